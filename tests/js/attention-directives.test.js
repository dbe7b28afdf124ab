// Words of the composer that would be comments and nothing else.
import assert from "node:assert/strict";
import test from "node:test";
import { compose } from "../../static/js/attention/compose.js";
import { strayDirective } from "../../static/js/attention/directives.js";
import { ComposeError } from "../../static/js/attention/errors.js";
import { SHADERS } from "./attention-files.js";

/** @param {string} line */
const lines = (line) => `fn k() {\n  ${line}\n}\n`;

test("a word in another form, or misspelt, is refused at its place with the form that it has", () => {
  for (const [line, word, form] of [
    ["for (var n = 0u; n < 4u; n++) { // @unroll by hand", "@unroll:", "end the line of a loop"],
    ["for (var n = 0u; n < 4u; n++) { // @unrol", "@unrol: no such word; @unroll", "end the line"],
    ["for (var n = 0u; n < 4u; n++) { //@Unroll", "@Unroll: no such word; @unroll", "end"],
    ["for (var n = 0u; n < 4u; n++) { /* @unroll */", "@unroll:", "end the line of a loop"],
    ["while (n < 4u) { // @unroll", "@unroll:", "for .var n = 0u"],
    ["// @unroll", "@unroll:", "for .var n = 0u"],
    ["alias S = array<f32, 4>; // @register", "@register: no such word; @registers", "alias NAME"],
    ["alias S = array<f32, 4>; // @registers please", "@registers:", "alias NAME = array"],
    ["var S: array<f32, 4>; // @registers", "@registers:", "alias NAME = array"],
    ["//@trace told();", "@trace:", "// @trace CODE"],
    ["//  @trace told();", "@trace:", "// @trace CODE"],
    ["let a = 1; // @trace told();", "@trace:", "a line of its own"],
    ["// @trac told();", "@trac: no such word; @trace", "// @trace CODE"],
    ["let a = 1; // @use common/a.wgsl", "@use:", "a line of its own, // @use PATH"],
    ["// @uses common/a.wgsl", "@uses: no such word; @use", "// @use PATH"],
  ]) {
    const sources = { "k.wgsl": "// @use common/a.wgsl\n", "common/a.wgsl": lines(line) };
    const act = () => compose("k.wgsl", {}, sources, { params: null });
    assert.throws(act, (error) => {
      assert.ok(error instanceof ComposeError, `${error}`);
      assert.ok(error.text.startsWith(word), error.text);
      assert.match(error.text, new RegExp(form));
      const place = [error.file, error.line, error.column];
      assert.deepEqual(place, ["common/a.wgsl", 2, line.indexOf("@") + 3], line);
      return true;
    });
  }
});

test("what is commented out, prose and other people's words are let be", () => {
  for (const line of [
    "// for (var n = 0u; n < 4u; n++) { // @unroll",
    "/* for (var n = 0u; n < 4u; n++) { // @unroll\n } */",
    "// with @unroll this would be longer",
    "// @group(0) @binding(1) var<storage> Q: array<f32>;",
    "// @param n of the loop",
    "/// @brief somebody's own",
    "// @user of this",
    "// @race: two invocations write it",
    "// @trade-off: slower, but exact",
    "// @grace given to the last row",
    "for (var n = 0u; n < 4u; n++)\n  { // @unroll",
    "for (var n = 0u; n < 4u; n++) { // @unroll\r",
    "// @trace told();",
  ]) {
    assert.equal(strayDirective(lines(line)), null, line);
  }
});

test("every word in the shipped files is one", () => {
  for (const [file, text] of Object.entries(SHADERS)) {
    assert.equal(strayDirective(text), null, file);
  }
});
