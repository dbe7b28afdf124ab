// The files of a kernel of one's own, as the page holds them.
import assert from "node:assert/strict";
import test from "node:test";
import { OwnFiles } from "../../static/js/own/files.js";

test("a kernel is its first text, with the manifest if there is one", () => {
  const files = new OwnFiles();
  assert.equal(files.own(), null);
  files.set("C:\\kernels\\my kernel.wgsl", "fn a() {}");
  files.set("part.wgsl", "const A = 1u;");
  assert.deepEqual(files.own(), {
    name: "my_kernel",
    manifest: {},
    files: { "my_kernel.wgsl": "fn a() {}", "part.wgsl": "const A = 1u;" },
  });
  files.set("any.json", '{"grid": ["T"]}');
  assert.deepEqual(files.own().manifest, { grid: ["T"] });
  assert.deepEqual(files.names, ["my_kernel.wgsl", "part.wgsl", "any.json"]);
  files.remove("any.json");
  assert.deepEqual(files.own().manifest, {});
});

test("what is pasted is a manifest if it looks like one, else the kernel's text", () => {
  const files = new OwnFiles();
  assert.equal(files.paste("fn a() {}"), "pasted.wgsl");
  assert.equal(files.paste(' {"grid": ["T"]}'), "manifest.json");
  assert.equal(files.paste("fn b() {}"), "pasted.wgsl");
  assert.deepEqual(files.own(), {
    name: "pasted",
    manifest: { grid: ["T"] },
    files: { "pasted.wgsl": "fn b() {}" },
  });
});

test("names are those that the server takes", () => {
  const files = new OwnFiles();
  assert.equal(files.set("../../etc/passwd", ""), "passwd.wgsl");
  assert.equal(files.set(".hidden", ""), "k.hidden.wgsl");
  assert.equal(files.set("ä b.wgsl", ""), "__b.wgsl");
});

test("a manifest that is no JSON object is refused by its name", () => {
  const files = new OwnFiles();
  files.set("k.wgsl", "");
  files.set("k.json", "{grid}");
  assert.throws(() => files.own(), { name: "SyntaxError", message: /^k\.json: / });
  files.set("k.json", "[]");
  assert.throws(() => files.own(), /^SyntaxError: k\.json: a manifest is an object/);
  assert.throws(
    () => files.set("big.wgsl", "é".repeat(140_000)),
    /big\.wgsl has 280000 bytes; at most 262144/,
  );
});
