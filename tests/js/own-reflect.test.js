// What is read from WGSL by itself: of kernels that are not ours, and of ours to see how far it goes.
import assert from "node:assert/strict";
import test from "node:test";
import { compose } from "../../static/js/attention/compose.js";
import { overridesIn, reflect } from "../../static/js/own/reflect.js";
import { SHADERS } from "./attention-files.js";
import { variants } from "./attention-variants.js";

const TEXT = `
enable f16;
struct Inner { first: vec2<u32>, second: f32 }
struct Shape { B: u32, scale: f32, dims: vec3<u32>, inner: Inner, rows: array<vec4<u32>, 2> }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(1) @binding(0) var<uniform> n: u32;
@group(0) @binding(1) var<storage> q: array<f32>;
@group(0) @binding(2) var<storage, read_write> o: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> half: array<f16>;  // another entry point's
fn reads_n() -> f32 { return q[n]; }
@compute @workgroup_size(4, 2) fn first() { o[0] = vec4<f32>(reads_n() * shape.scale); }
@compute @workgroup_size(4) fn second() { half[0] = f16(q[0]); }
`;

test("an entry point binds what it and the functions that it calls mention", async () => {
  const { entries } = await reflect(TEXT);
  const names = (entry) => entries.get(entry).map(({ name }) => name);
  assert.deepEqual([...entries.keys()], ["first", "second"]);
  assert.deepEqual(names("first").sort(), ["n", "o", "q", "shape"]);
  assert.deepEqual(names("second").sort(), ["half", "q"]);
  const of = (name) => entries.get("first").find((variable) => variable.name === name);
  assert.deepEqual(
    [of("q").access, of("o").access, of("shape").access],
    ["read", "read_write", "uniform"],
  );
  assert.deepEqual([of("n").group, of("n").binding], [1, 0]);
  assert.equal(of("q").type, "array<f32>");
  assert.equal(of("q").members, null);
});

test("members of a uniform lie where WGSL aligns them", async () => {
  const { entries } = await reflect(TEXT);
  const shape = entries.get("first").find(({ name }) => name === "shape");
  const laid = shape.members.map(({ path, type, count, offset }) => [path, type, count, offset]);
  assert.deepEqual(laid, [
    ["B", "u32", 1, 0],
    ["scale", "f32", 1, 4],
    ["dims", "u32", 3, 16],
    ["inner.first", "u32", 2, 32],
    ["inner.second", "f32", 1, 40],
    ["rows[0]", "u32", 4, 48],
    ["rows[1]", "u32", 4, 64],
  ]);
  const [n] = entries.get("first").filter(({ name }) => name === "n");
  assert.deepEqual(n.members, [{ path: "", type: "u32", count: 1, offset: 0 }]);
});

test("whose length a text asks for is told with the bytes of an element", async () => {
  const asking = (/** @type {string} */ expression) =>
    reflect(`
      struct Words { count: u32, all: array<u32> }
      @group(0) @binding(0) var<storage, read> q: array<f32>;
      @group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
      @group(0) @binding(2) var<storage, read_write> write: Words;
      // arrayLength(&q) is only spoken of
      fn some(p: ptr<storage, array<f32>, read>) -> u32 { return ${expression}; }
      @compute @workgroup_size(1) fn main() { out[0].x = q[some(&q)]; write.all[0] = 1u; }
    `).then(({ entries }) =>
      Object.fromEntries(entries.get("main").map(({ name, measured }) => [name, measured])),
    );
  assert.deepEqual(await asking("1u /* arrayLength(&q) */"), { q: 0, out: 0, write: 0 });
  assert.deepEqual(await asking("arrayLength(&out)"), { q: 0, out: 16, write: 0 });
  assert.deepEqual(await asking("arrayLength ( &(q) )"), { q: 4, out: 0, write: 0 });
  assert.deepEqual(await asking("arrayLength(&write.all)"), { q: 0, out: 0, write: 4 });
  // Whose a pointer is, is not followed: it may be that of any.
  assert.deepEqual(await asking("arrayLength(p)"), { q: 4, out: 16, write: 4 });
  assert.deepEqual(await asking("arrayLength(&*p)"), { q: 4, out: 16, write: 4 });
});

test("overrides have a type and, where it is a number, a default; constants have their value", () => {
  const { overrides, constants } = overridesIn(`
    override A: u32 = 16; override B = 2.5; @id(7) override C: bool; override D: u32 = A * 2u;
    const E = 8u; const F: f32 = -1e30; const G = A * 2u; // override H: u32;
  `);
  assert.deepEqual(overrides, [
    { name: "A", key: "A", type: "u32", value: 16 },
    { name: "B", key: "B", type: "f32", value: 2.5 },
    { name: "C", key: "7", type: "bool", value: undefined },
    { name: "D", key: "D", type: "u32", value: Number.NaN },
  ]);
  assert.equal(constants.E, 8);
  assert.ok(!("G" in constants) && !("H" in constants));
});

test("names that WGSL leaves free may be variables", async () => {
  const { entries } = await reflect(`
    @group(0) @binding(0) var<storage, read_write> o: array<f32>;
    var<workgroup> tile: array<f32, 4>;
    fn put(at: ptr<function, u32>) { *at = 1u; }
    @compute @workgroup_size(2 * 2)
    fn main(@builtin(workgroup_id) workgroup: vec3<u32>) {
      var read = 0u; put(&read); let private = workgroup.x * 2u; o[private + read] = tile[read];
    }`);
  assert.deepEqual(
    entries.get("main").map(({ name }) => name),
    ["o"],
  );
});

test("our own composed kernels are read, all but those on experimental subgroup matrices", async () => {
  let read = 0;
  for (const { row, constants, ...options } of variants()) {
    if (row.name.endsWith("_matrix") && row.name !== "fa2_delta_matrix") continue;
    const { text } = compose(row.file, constants, SHADERS, options);
    const { entries } = await reflect(text);
    assert.deepEqual([...entries.keys()], [row.name]);
    const bound = entries.get(row.name).filter(({ access }) => access !== "uniform");
    assert.equal(bound.length, Object.keys(row.bindings).length, row.name);
    for (const { access, name } of bound) {
      assert.ok(["read", "read_write"].includes(access), name);
    }
    read++;
  }
  assert.ok(read > 200, `${read} texts`);
});
