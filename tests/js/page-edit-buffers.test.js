import assert from "node:assert/strict";
import { test } from "node:test";
import { EditBuffers, lineChange } from "../../static/js/edit-buffers.js";

const opened = (text = "a\nb\n") => {
  const buffers = new EditBuffers();
  buffers.open("k.wgsl", text);
  return buffers;
};

test("a file is as shipped until its text differs, and again when it no longer does", () => {
  const buffers = opened();
  assert.deepEqual(buffers.edited(), {});
  buffers.edit("k.wgsl", "a\nc\n");
  assert.deepEqual(buffers.edited(), { "k.wgsl": "a\nc\n" });
  buffers.edit("k.wgsl", "a\nb\n");
  assert.ok(!buffers.isEdited("k.wgsl"));
});

test("revert gives back what lies on disk", () => {
  const buffers = opened();
  buffers.edit("k.wgsl", "x");
  assert.equal(buffers.revert("k.wgsl"), "a\nb\n");
  assert.deepEqual(buffers.edited(), {});
});

test("opening a file again keeps its edits", () => {
  const buffers = opened();
  buffers.edit("k.wgsl", "mine");
  buffers.open("k.wgsl", "a\nb\n");
  assert.equal(buffers.text("k.wgsl"), "mine");
});

test("a file with CRLF is edited with plain line ends and handed out with its own", () => {
  const buffers = opened("a\r\nb\r\n");
  assert.equal(buffers.text("k.wgsl"), "a\nb\n");
  assert.ok(!buffers.isEdited("k.wgsl"));
  buffers.edit("k.wgsl", "a\nb2\n");
  assert.deepEqual(buffers.edited(), { "k.wgsl": "a\r\nb2\r\n" });
});

test("a text that nobody edited here follows the file", () => {
  const buffers = opened();
  assert.equal(buffers.saved("k.wgsl", "new"), "taken");
  assert.equal(buffers.text("k.wgsl"), "new");
  assert.equal(buffers.saved("k.wgsl", "new"), "same");
  assert.equal(buffers.saved("other.wgsl", "new"), "unopened");
});

test("edits stand against a file that was saved since, until one of the two is taken", () => {
  for (const [action, text, edited] of [
    ["keep", "mine", { "k.wgsl": "mine" }],
    ["revert", "theirs", {}],
  ]) {
    const buffers = opened();
    buffers.edit("k.wgsl", "mine");
    assert.equal(buffers.saved("k.wgsl", "theirs"), "contested");
    assert.ok(buffers.isContested("k.wgsl"));
    assert.equal(buffers.disk("k.wgsl"), "theirs");
    assert.equal(buffers.text("k.wgsl"), "mine");
    buffers[action]("k.wgsl");
    assert.ok(!buffers.isContested("k.wgsl"));
    assert.equal(buffers.text("k.wgsl"), text);
    assert.deepEqual(buffers.edited(), edited);
  }
});

test("edits that were saved to disk are edits no longer", () => {
  const buffers = opened();
  buffers.edit("k.wgsl", "mine");
  assert.equal(buffers.saved("k.wgsl", "mine"), "taken");
  assert.deepEqual(buffers.edited(), {});
  buffers.edit("k.wgsl", "again");
  buffers.saved("k.wgsl", "theirs");
  assert.equal(buffers.saved("k.wgsl", "mine"), "same", "back to what was taken");
  assert.ok(!buffers.isContested("k.wgsl"));
});

test("a change is where the two texts differ", () => {
  assert.deepEqual(lineChange("a\nb\nc", "a\nx\ny\nc"), { first: 2, added: 2, removed: 1 });
  assert.deepEqual(lineChange("a\na", "a\na\na"), { first: 3, added: 1, removed: 0 });
  const apart = lineChange("a\nb\nc\nd\ne", "a\nB\nc\nd\nE");
  assert.deepEqual(apart, { first: 2, added: 2, removed: 2 }, "the lines between are the same");
  assert.deepEqual(lineChange("a", "a"), { first: 2, added: 0, removed: 0 });
});
