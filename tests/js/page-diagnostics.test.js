import assert from "node:assert/strict";
import { test } from "node:test";
import { inOrder, rangeOf } from "../../static/js/diagnostics.js";
import { EditorState } from "../../static/js/vendor/codemirror.js";

const docOf = (text) => EditorState.create({ doc: text }).doc;
const marked = (text, line, column, length = 0) => {
  const doc = docOf(text);
  const { from, to } = rangeOf(doc, { line, column, length });
  return doc.sliceString(from, to);
};

test("a message without a length marks the word, the number or the sign at its place", () => {
  assert.equal(marked("let a = bcd + 1.5f;", 1, 9), "bcd");
  assert.equal(marked("let a = bcd + 1.5f;", 1, 15), "1.5f");
  assert.equal(marked("let a = bcd + 1.5f;", 1, 13), "+");
  assert.equal(marked("// @use common/none.wgsl", 1, 4), "@use");
  assert.equal(marked("let a = bcd + 1.5f;", 1, 9, 6), "bcd + ");
});

test("lines that end in CRLF are counted as the compiler counts them", () => {
  assert.equal(marked("a\r\nb\r\nlet c = d;", 3, 9), "d");
  assert.equal(marked("ab\r\ncd", 1, 3), "b", "behind the last character of its line");
});

test("columns count UTF-16 units, and no half of an emoji is ever marked", () => {
  const line = "/* 😀 */ x = 1;";
  assert.equal(marked(line, 1, line.indexOf("x") + 1), "x");
  assert.equal(marked(line, 1, 5), "😀", "its second half");
  assert.equal(marked(line, 1, 4, 1), "😀");
  assert.equal(marked("a 😀", 1, 99), "😀");
});

test("what lies beyond the text is marked at its end", () => {
  assert.equal(marked("one\ntwo", 9, 1), "o", "the last character of the last line");
  assert.equal(marked("one\ntwo", 1, 50), "e", "beyond its line: a copy of an unrolled loop");
  assert.equal(marked("one\ntwo", 2, 2, 500), "wo");
  assert.deepEqual(rangeOf(docOf(""), { line: 1, column: 1, length: 0 }), { from: 0, to: 0 });
  assert.deepEqual(rangeOf(docOf("a\n"), { line: 2, column: 1, length: 4 }), { from: 2, to: 2 });
});

test("a message without a place is one about the first line, without a column about its line", () => {
  assert.equal(marked("one\ntwo", 0, 0), "one");
  assert.equal(marked("one\ntwo", 2, 0), "two");
});

test("errors come first, then what stands further up", () => {
  const message = (type, line, column) => ({
    ...{ type, line, column, file: "a.wgsl", text: "", length: 0 },
  });
  const all = [message("info", 1, 1), message("error", 9, 2), message("warning", 1, 1)];
  all.push(message("error", 9, 1), message("error", 2, 5));
  assert.deepEqual(
    inOrder(all).map(({ type, line, column }) => `${type} ${line}:${column}`),
    ["error 2:5", "error 9:1", "error 9:2", "warning 1:1", "info 1:1"],
  );
});
