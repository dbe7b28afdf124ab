// The files of a kernel of one's own, as the page holds them.
import assert from "node:assert/strict";
import test from "node:test";
import { OwnFiles } from "../../static/js/own/files.js";

const KERNEL = "@compute @workgroup_size(1) fn main() {}";

/** @param {OwnFiles} files @param {...string} names each with a text of its kind */
const give = (files, ...names) =>
  files.give(
    names.map((name) => ({ name, text: name.endsWith(".json") ? `{"name": "${name}"}` : KERNEL })),
  );

test("a kernel goes with the manifest that is there, and with the texts that it uses", () => {
  const files = new OwnFiles();
  assert.equal(files.own(), null);
  const text = `// @use part.wgsl\n${KERNEL}`;
  files.give([
    { name: "C:\\kernels\\my kernel.wgsl", text },
    { name: "part.wgsl", text: "const A = 1u;" },
    { name: "unused.wgsl", text: "// @compute" },
  ]);
  assert.deepEqual(files.own(), {
    name: "my_kernel",
    manifest: {},
    files: { "my_kernel.wgsl": text, "part.wgsl": "const A = 1u;" },
  });
  files.give([{ name: "any.json", text: '{"grid": ["T"], "passes": [{"file": "unused.wgsl"}]}' }]);
  assert.deepEqual(files.own().manifest.grid, ["T"]);
  assert.deepEqual(files.roles, {
    kernel: "my_kernel.wgsl",
    manifest: "any.json",
    parts: ["unused.wgsl", "part.wgsl"],
    others: [],
  });
  files.remove("any.json");
  assert.deepEqual(files.own().manifest, {});
});

test("the kernel given last is the one that is run, with the manifest of its name", () => {
  const files = new OwnFiles();
  give(files, "right.wgsl");
  give(files, "wrong.wgsl", "wrong.json");
  assert.equal(files.own().name, "wrong");
  assert.deepEqual(Object.keys(files.own().files), ["wrong.wgsl"]);
  assert.deepEqual(files.roles.others, ["right.wgsl"]);
  give(files, "third.wgsl");
  assert.equal(files.own().name, "third");
  assert.deepEqual(files.own().manifest, {}, "wrong.json is of another text");
  give(files, "wrong.json");
  assert.deepEqual([files.kernel, files.manifest], ["wrong.wgsl", "wrong.json"]);
  files.choose("right.wgsl");
  assert.deepEqual([files.kernel, files.manifest], ["right.wgsl", ""]);
  files.set("third.wgsl", `${KERNEL} // typed`);
  assert.equal(files.kernel, "right.wgsl", "typing is not giving");
  files.remove("right.wgsl");
  assert.equal(files.kernel, "third.wgsl");
});

test("of files given together the kernel is the one with a manifest, else one with an entry point", () => {
  const files = new OwnFiles();
  give(files, "b.json", "b.wgsl", "c.wgsl");
  assert.equal(files.kernel, "b.wgsl");
  const others = new OwnFiles();
  others.give([
    { name: "a.wgsl", text: KERNEL },
    { name: "z.wgsl", text: "/* no @compute */ const Z = 1u;" },
  ]);
  assert.equal(others.kernel, "a.wgsl");
});

test("what is pasted is a manifest if it looks like one, else the kernel's text", () => {
  const files = new OwnFiles();
  const paste = (/** @type {string} */ text) => files.give([files.named(text)]);
  assert.deepEqual(paste(' {"grid": ["B"]}'), ["manifest.json"]);
  files.remove("manifest.json");
  assert.deepEqual(paste("fn a() {}"), ["pasted.wgsl"]);
  assert.deepEqual(paste(' {"grid": ["T"]}'), ["pasted.json"]);
  assert.deepEqual(paste("fn b() {}"), ["pasted.wgsl"]);
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
