// From a manifest, a text and a case to what is bound and dispatched; what does not fit is refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { planOwn } from "../../static/js/own/plan.js";
import { SHADERS } from "./attention-files.js";

const KERNEL = `
struct Shape { T: u32, B: u32, n_heads: u32, scale: f32, _pad: vec2<u32> }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> q_buf: array<f32>;
@group(0) @binding(2) var<storage, read> K: array<f32>;
@group(0) @binding(3) var<storage, read> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> ctx: array<f32>;
@group(0) @binding(5) var<storage, read_write> L: array<f32>;
override ROWS: u32 = 64;
const BR = 16u; const BC = 8u;
@compute @workgroup_size(ROWS) fn main() {
  ctx[0] = q_buf[0] * K[0] * v[0] * shape.scale * f32(HEAD_DIM * BR * BC); L[0] = 0.0;
}`;
const GRID = ["ceil_div(T, BR)", "B * H"];
const SPEC = { B: 2, H: 3, Tq: 40, Tk: 40, D: 16 };

function plan(manifest, { text = KERNEL, spec = SPEC, want = ["o", "lse"], files = {} } = {}) {
  const all = { "k.wgsl": text, ...files };
  const closure = async (file) => {
    const found = {};
    const wanted = [file];
    for (const name of wanted) {
      found[name] = all[name] ?? SHADERS[name];
      const uses = [...found[name].matchAll(/^\s*\/\/ @use (\S+)/gm)].map(([, used]) => used);
      wanted.push(...uses);
    }
    return found;
  };
  const own = { name: "k", manifest, files: all };
  return planOwn(own, spec, { limits: DEFAULT_LIMITS, want, closure });
}

const refused = (manifest, message, options) =>
  assert.rejects(plan(manifest, options), (error) => {
    assert.equal(error.kind, "manifest", error.stack);
    assert.match(error.message, message);
    return true;
  });

const skipped = (manifest, message, options) =>
  assert.rejects(plan(manifest, options), (error) => {
    assert.equal(error.kind, "unsupported", error.stack);
    assert.match(error.message, message);
    return true;
  });

test("names like ours are matched, and the rest of the text is read: a grid is enough", async () => {
  const { passes, tile } = await plan({ grid: GRID });
  const [pass] = passes;
  assert.equal(pass.entry, "main");
  assert.deepEqual(pass.grid, [3, 6, 1]);
  assert.deepEqual(
    pass.bound.map(({ variable, name, kind }) => [variable.name, kind, name]).sort(),
    [
      ["K", "tensor", "k"],
      ["L", "tensor", "lse"],
      ["ctx", "tensor", "o"],
      ["q_buf", "tensor", "q"],
      ["shape", "uniform", "shape"],
      ["v", "tensor", "v"],
    ],
  );
  assert.deepEqual(tile, { Br: 16, Bc: 8 });
  assert.match(pass.composed.text, /const HEAD_DIM: u32 = 16u;/);
});

test("a uniform is packed at WGSL's offsets, padding with zeros", async () => {
  const { passes } = await plan({ grid: GRID });
  const words = new DataView(passes[0].uniforms.shape);
  assert.deepEqual(
    [0, 4, 8].map((at) => words.getUint32(at, true)),
    [40, 2, 3],
  );
  assert.equal(words.getFloat32(12, true), 0.25);
  assert.equal(words.getUint32(16, true), 0);
});

test("constants are expressions; an override goes to the pipeline, what is left open into the text", async () => {
  const { passes } = await plan({ grid: ["ceil_div(T, ROWS)"], constants: { ROWS: "2 * BR" } });
  assert.deepEqual(passes[0].constants, { ROWS: 32 });
  assert.deepEqual(passes[0].grid, [2, 1, 1]);
  const half = await plan({
    grid: GRID,
    constants: { HEAD_DIM: { value: "sqrt(D) / 8", type: "f32" } },
  });
  assert.match(half.passes[0].composed.text, /const HEAD_DIM: f32 = 0.5;/);
});

test("a common file of ours may be used, with its own uniform", async () => {
  const text = `// @use common/params.wgsl
    // @use common/grid.wgsl
    @group(0) @binding(4) var<storage, read_write> O: array<f32>;
    @compute @workgroup_size(1) fn main(@builtin(workgroup_id) workgroup: vec3<u32>) {
      let item = item_of(workgroup, params.Tq); O[item.tile] = params.scale;
    }`;
  const manifest = { grid: ["Tq * H", "B"], outputs: ["o"] };
  const { passes } = await plan(manifest, { text, want: ["o"] });
  const words = new Uint32Array(passes[0].uniforms.params);
  assert.deepEqual([...words.slice(7, 11)], [0, 240, 120, 1]); // from, to, width, slices
});

test("passes share scratch, and bind what each of them mentions", async () => {
  const text = `
    @group(0) @binding(0) var<storage, read> q: array<f32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<f32>;
    @group(0) @binding(0) var<storage, read_write> o: array<f32>;
    @compute @workgroup_size(1) fn add() { sums[0] = q[0]; }
    @compute @workgroup_size(1) fn write() { o[0] = sums[0]; }`;
  const manifest = {
    passes: [
      { entry: "add", grid: ["H"] },
      { entry: "write", grid: ["B"] },
    ],
    scratch: { sums: { bytes: "4 * Tq + 2", zero: true } },
    outputs: ["o"],
  };
  const { passes, scratch } = await plan(manifest, { text, want: ["o"] });
  assert.deepEqual(scratch, { sums: { bytes: 164, zero: true } });
  const names = passes.map(({ bound }) => bound.map(({ name }) => name).sort());
  assert.deepEqual(names, [
    ["q", "sums"],
    ["o", "sums"],
  ]);
});

test("what the kernel reads says which cases it takes", async () => {
  await skipped({ grid: GRID }, /causal=0/, { spec: { ...SPEC, causal: false } });
  await plan({ grid: GRID }, { spec: { ...SPEC, scale: -0.5 } });
  const fixed = { text: KERNEL.replace("shape.scale", "0.25").replace("scale: f32", "pad: f32") };
  await plan({ grid: GRID }, fixed);
  await skipped({ grid: GRID }, /scale=-0\.5: it reads neither scale nor scale_log2/, {
    ...fixed,
    spec: { ...SPEC, scale: -0.5 },
  });
  await skipped({ grid: GRID }, /grouped heads/, { spec: { ...SPEC, H: 4, Hkv: 2 } });
  await skipped({ grid: GRID }, /layout=bhtd/, { spec: { ...SPEC, layout: "bhtd" } });
  await skipped({ grid: GRID }, /dtype=f16/, { spec: { ...SPEC, dtype: "f16" } });
  await skipped({ grid: GRID }, /window=5:0/, { spec: { ...SPEC, window: [5, 0] } });
  await skipped({ grid: GRID }, /softcap=3/, { spec: { ...SPEC, softcap: 3 } });
  await skipped({ grid: GRID }, /bias=tt/, { spec: { ...SPEC, bias: "tt" } });
  await skipped({ grid: GRID, supports: { max_D: 8 } }, /D=16 is more than its 8/);
  await skipped({ grid: GRID, supports: { D_multiple_of: 3 } }, /D=16 is no multiple of 3/);
  await skipped({ grid: GRID, supports: { max_T: 32 } }, /40 rows are more than its 32/);
  await skipped({ grid: GRID, op: "backward" }, /computes a backward/);
  await plan({ grid: GRID, supports: { window: true } }, { spec: { ...SPEC, window: [5, 0] } });
});

test("T in an expression is no name where Tq and Tk differ, but a refusal", async () => {
  const options = { spec: { ...SPEC, Tk: 48 } };
  await skipped({ grid: GRID }, /Tq=40, Tk=48: it takes Tq = Tk only/, options);
});

test("more workgroups than a dimension holds are refused with both numbers", async () => {
  await skipped({ grid: ["Tq * 65536"] }, /2621440 workgroups .* takes 65535/);
});

const WITH = (more) => ({ grid: GRID, ...more });
const WRONG = [
  [
    "a variable that the text does not bind",
    WITH({ bindings: { Qm: "q" } }),
    /^bindings\.Qm: k\.wgsl binds no such variable; it binds .*q_buf/,
  ],
  [
    "a uniform taken for a tensor",
    WITH({ bindings: { shape: "q" } }),
    /^bindings\.shape: shape is a uniform/,
  ],
  [
    "an output that is declared read-only",
    WITH({ bindings: { K: "lse", L: "k" } }),
    /^bindings\.K: lse is an output, but k\.wgsl declares K as var<storage, read>/,
  ],
  [
    "an output that nothing is bound to",
    WITH({ bindings: { L: "delta" } }),
    /^outputs: lse is judged, but k\.wgsl binds no variable for it.*\["o"\]/,
  ],
  [
    "a member that no uniform has",
    WITH({ uniforms: { seqlen: "T" } }),
    /^uniforms\.seqlen: no uniform of k\.wgsl has such a member; they have T, B, n_heads/,
  ],
  [
    "a vector with too few values",
    WITH({ uniforms: { _pad: "T" } }),
    /^uniforms\._pad: _pad has 2 components, 1 values are given/,
  ],
  [
    "a name that no expression knows",
    WITH({ uniforms: { T: "Tquery" } }),
    /^uniforms\.T: size "Tquery": unknown name "Tquery"; the names are B, H/,
  ],
  [
    "a value that its type does not hold",
    WITH({ uniforms: { T: "B - H" } }),
    /^uniforms\.T: "B - H" is -1 here, which is no u32/,
  ],
  [
    "a constant that nobody mentions",
    WITH({ constants: { TILE: 4 } }),
    /^constants\.TILE: the text mentions no TILE; its overrides are ROWS/,
  ],
  [
    "an entry point that is not there",
    WITH({ entry: "forward" }),
    /^entry: k\.wgsl has no compute entry point forward; it has main/,
  ],
  ["no grid", {}, /^grid: how many workgroups of main run is not known/],
  ["a malformed grid", { grid: ["ceil_div(T)"] }, /^grid\[0\]: size "ceil_div\(T\)": expected ","/],
  ["a grid that is no whole number", { grid: ["T * 0.3 + 0.1"] }, /^grid\[0\]: .* which is no u32/],
  [
    "scratch that nothing is bound to",
    WITH({ scratch: { sums: 4 } }),
    /^scratch\.sums: no variable is bound to it/,
  ],
];

for (const [what, manifest, message] of WRONG) {
  test(`refused by field: ${what}`, () => refused(manifest, message));
}

test("refused by field: several entry points and no word which", () =>
  refused(WITH({}), /^entry: k\.wgsl has 2 compute entry points \(main, other\)/, {
    text: `${KERNEL}\n@compute @workgroup_size(1) fn other() { ctx[1] = 0.0; }`,
  }));

test("refused by field: a variable whose name says nothing", () =>
  refused(WITH({}), /^bindings\.stuff: the name says neither a tensor nor a scratch buffer/, {
    text: KERNEL.replaceAll("q_buf", "stuff"),
  }));

test("refused by field: a member whose name says nothing", () =>
  refused(WITH({}), /^uniforms\.n_things: no value is known by that name/, {
    text: KERNEL.replaceAll("n_heads", "n_things"),
  }));

test("all that is open is told at once, with the names there are and a manifest to complete", () =>
  assert.rejects(
    plan(
      { op: "forward", grid: ["T", "H"], uniforms: { n: "T" } },
      {
        text: `
          struct U { n: u32, nh: u32, sc: f32, more: vec2<u32> }
          @group(0) @binding(0) var<uniform> u: U;
          @group(0) @binding(1) var<storage, read> Q: array<f32>;
          @group(0) @binding(2) var<storage, read_write> Out: array<f32>;
          @compute @workgroup_size(1) fn main() {
            Out[0] = Q[0] * u.sc * f32(u.nh + u.n + u.more.x);
          }`,
      },
    ),
    ({ kind, message }) => {
      assert.equal(kind, "manifest");
      const [said, draft] = message.split("\n");
      assert.match(said, /^uniforms\.nh: no value is known by that name, nor by sc, more; /);
      assert.match(said, /the names are B, H, Hkv, Tq, .*scale.* and strides as q_row/);
      const whole = "<B|H|Hkv|Tq|Tk|D|…>";
      assert.deepEqual(JSON.parse(draft), {
        grid: ["T", "H"],
        uniforms: { n: "T", nh: whole, sc: "<scale|scale_log2|softcap>", more: [whole, whole] },
        outputs: ["o"],
      });
      return true;
    },
  ));

test("variables and members that say nothing are told together", () =>
  refused(
    WITH({}),
    /^bindings\.stuff: .*, nor by other; .*q, k, v,.*; no value is known by that name; .*\n\{.*"stuff":"<q\|k/,
    {
      text: KERNEL.replaceAll("q_buf", "stuff")
        .replaceAll("K[0]", "other[0]")
        .replace("K: array", "other: array")
        .replaceAll("n_heads", "n_things"),
    },
  ));

test("refused by field: an override that nothing gives a value", () =>
  refused(WITH({}), /^constants\.WIDTH_OF_IT: the override WIDTH_OF_IT has no default/, {
    text: KERNEL.replace("const BR", "override WIDTH_OF_IT: u32; const BR"),
  }));

test("refused by field: a buffer that is bound twice and written", () =>
  refused(
    WITH({ bindings: { L: "o", ctx: "o" } }),
    /^bindings\.(L|ctx): (ctx|L) is bound to o already/,
    {
      want: ["o"],
    },
  ));

for (const [what, tile] of [
  ["of no row", { Br: 0, Bc: 16 }],
  ["longer than any tensor", { Br: 16, Bc: 4000000000 }],
]) {
  test(`refused by field: a tile ${what}`, () =>
    refused(WITH({ tile }), /^tile\.B[rc]: \d+ is no/));
}

test("refused by field: a tensor that the case does not have", () =>
  refused(WITH({ bindings: { q_buf: "dq" } }), /^bindings\.q_buf: a forward has no dq/));

test("names that every object has are no names of a manifest", () =>
  refused(WITH({}), /^uniforms\.valueOf: no value is known by that name/, {
    text: KERNEL.replaceAll("n_heads", "valueOf"),
  }));

test("what the device does not hold is refused with both numbers before it is allocated", async () => {
  const text = KERNEL.replaceAll("L[0] = 0.0", "L[0] = 0.0; room[0] = 0.0").replace(
    "override ROWS",
    "@group(0) @binding(6) var<storage, read_write> room: array<f32>;\noverride ROWS",
  );
  const scratch = { room: "4294967292" };
  await skipped(WITH({ scratch }), /scratch\.room is 4294967292 bytes .* at most 134217728/, {
    text,
  });
  for (const group of [4, 4000000000]) {
    await skipped(WITH({}), /in @group\(\d+\), this device has groups 0 to 3/, {
      text: KERNEL.replace("@group(0) @binding(5)", `@group(${group}) @binding(5)`),
    });
  }
});

test("a storage array of a fixed size is a tensor like any other, however long", async () => {
  const text = KERNEL.replace("ctx: array<f32>", "ctx: array<f32, 268435456>");
  assert.equal((await plan(WITH({}), { text })).passes.length, 1);
});

test("refused by field: a uniform that is larger than any", () =>
  refused(WITH({}), /^uniforms\.shape: Shape has \d+ bytes, more than any uniform has/, {
    text: KERNEL.replace("_pad: vec2<u32>", "_pad: array<vec4<u32>, 100000000>"),
  }));

test("the examples are understood", async () => {
  for (const name of ["notes_16x16", "row_per_invocation", "two_pass", "backward_rows"]) {
    const base = new URL(`../../examples/${name}`, import.meta.url);
    const text = readFileSync(`${base.pathname}.wgsl`, "utf8");
    const manifest = JSON.parse(readFileSync(`${base.pathname}.json`, "utf8"));
    const op = manifest.op ?? "forward";
    const want = op === "backward" ? ["o", "lse", "dq", "dk", "dv"] : ["o"];
    const found = await plan(manifest, { text, want, spec: { ...SPEC, op } });
    assert.ok(found.passes.length >= 1);
  }
});
