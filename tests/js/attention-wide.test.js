// The kernels for real GPUs: taken unasked on hardware, where rows can be read four elements at a time.
import assert from "node:assert/strict";
import test from "node:test";
import { Unsupported } from "../../static/js/attention/errors.js";
import { factsOf } from "../../static/js/attention/facts.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";
import { LARGE_LIMITS } from "./attention-variants.js";

const HARDWARE = { vendor: "amd", subgroupMinSize: 32, subgroupMaxSize: 64 };
const FEATURES = ["subgroups", "shader-f16"];
const SOFTWARE = [
  { vendor: "google", architecture: "swiftshader" },
  { vendor: "mesa", description: "llvmpipe (LLVM 20)" },
];
const OPS = /** @type {const} */ (["forward", "backward"]);
const SHAPE = { H: 4, Hkv: 2, Tq: 1024, D: 64 };
/** Rows of a tensor that begin where no vector of four does. */
const SHIFTED = { offset: 2, batch: 1024 * 256, row: 256, head: 64 };

/** @param {object} [info] @param {string[]} [features] @param {object} [limits] */
const device = (info = HARDWARE, features = FEATURES, limits = DEFAULT_LIMITS) =>
  factsOf({ limits: /** @type {any} */ (limits), features, info: /** @type {any} */ (info) });

/** @param {object} [spec] @param {any} [facts] @param {string} [kernel] */
const plan = (spec = {}, facts = device(), kernel = "auto") =>
  buildPlan(/** @type {any} */ ({ ...SHAPE, ...spec }), facts, { kernel });

test("auto takes the wide kernels on hardware, in f32 and f16, at every head size of four", () => {
  for (const dtype of ["f32", "f16"]) {
    for (let D = 4; D <= 256; D += 4) {
      for (const Tq of [9, 1024, 2048, 4096]) {
        const spec = { dtype, D, Tq };
        assert.equal(plan(spec).kernel, "fa2_forward_wide", JSON.stringify(spec));
        const backward = plan({ ...spec, op: "backward" }).kernel;
        assert.equal(backward, "fa2_backward_wide", JSON.stringify(spec));
      }
    }
  }
});

test("tiles grow with the rows of all heads and batches, however long a head is", () => {
  const rows = (/** @type {object} */ spec) =>
    plan(spec, device(HARDWARE, FEATURES, LARGE_LIMITS)).tile?.Br;
  for (const [spec, forward, backward] of /** @type {[object, number, number][]} */ ([
    [{ H: 16, Tq: 512 }, 32, 32],
    [{ H: 16, Tq: 1024 }, 32, 64],
    [{ H: 16, Tq: 2048 }, 64, 96],
    [{ H: 16, Tq: 4096 }, 128, 96],
    [{ B: 64, H: 16, Tq: 64 }, 128, 96],
    [{ H: 2, Hkv: 1, Tq: 4096 }, 32, 32],
  ])) {
    assert.equal(rows(spec), forward, JSON.stringify(spec));
    assert.equal(rows({ ...spec, op: "backward" }), backward, JSON.stringify(spec));
  }
});

test("auto passes them over on software, where they are had by name", () => {
  for (const info of SOFTWARE) {
    for (const op of OPS) {
      const facts = device(info, []);
      assert.ok(!plan({ op }, facts).kernel.endsWith("_wide"), `${info.vendor} ${op}`);
      const named = plan({ op }, facts, `fa2_${op}_wide`);
      assert.equal(named.kernel, `fa2_${op}_wide`);
    }
  }
});

test("a backward is one grid of key tiles and query tiles, given LSE and delta of every row", () => {
  const { passes, scratch, tile } = plan({ op: "backward" });
  assert.deepEqual(
    passes.map(({ kernel, workgroups }) => [kernel, workgroups]),
    [
      ["fa2_row_terms", (4 * 1024) / 64],
      ["fa2_dqdkdv_wide", (4 + 2) * Math.ceil(1024 / 64)],
    ],
  );
  assert.ok(
    passes.every(({ bindings }) => bindings.length <= 8),
    "what every device binds",
  );
  assert.deepEqual(scratch, { row_terms: 8 * 4 * 1024 });
  assert.deepEqual(tile, { Br: 64, Bc: 64 });
});

test("a head size or a stride that is no multiple of four leads to the narrow kernels", () => {
  const strides = { k: SHIFTED };
  for (const op of OPS) {
    for (const odd of [{ D: 62 }, { D: 1 }, { strides, Hkv: 4 }]) {
      assert.equal(plan({ op, ...odd }).kernel, `fa2_${op}`, JSON.stringify(odd));
    }
    for (const name of ["batch", "row", "head"]) {
      const spec = { Hkv: 4, strides: { v: { ...SHIFTED, offset: 4, [name]: SHIFTED[name] + 2 } } };
      assert.equal(plan({ op, ...spec }).kernel, `fa2_${op}`, name);
    }
    assert.equal(
      plan({ op, Hkv: 4, strides: { k: { ...SHIFTED, offset: 4 } } }).kernel,
      `fa2_${op}_wide`,
    );
  }
});

test("named, they refuse such a request with the value, the rule and the way out", () => {
  const strides = { k: SHIFTED };
  for (const op of OPS) {
    for (const [odd, text] of /** @type {[object, RegExp][]} */ ([
      [{ D: 62 }, /kernel fa2_\w+ does not fit, D=62: takes multiples of 4; use kernel=auto/],
      [
        { strides, Hkv: 4 },
        /fa2_\w+ does not fit, strides\.k\.offset=2: takes multiples of 4; use kernel=auto/,
      ],
    ])) {
      assert.throws(
        () => plan({ op, ...odd }, device(), `fa2_${op}_wide`),
        (error) => error instanceof Unsupported && text.test(error.message),
      );
    }
  }
});

test("rows are reduced by subgroups that hold sixteen invocations, else in workgroup memory", () => {
  const reduce = (/** @type {any} */ facts) => {
    const [{ roles, enable }] = plan({}, facts).passes;
    return [roles.reduce, enable.includes("subgroups")];
  };
  const sized = (/** @type {number} */ size) =>
    device({ vendor: "intel", subgroupMinSize: size, subgroupMaxSize: 32 });
  assert.deepEqual(reduce(sized(32)), ["common/reduce_subgroups.wgsl", true]);
  assert.deepEqual(reduce(sized(16)), ["common/reduce_subgroups.wgsl", true]);
  assert.deepEqual(reduce(sized(8)), ["common/reduce_workgroup.wgsl", false]);
  assert.deepEqual(reduce(device(HARDWARE, [])), ["common/reduce_workgroup.wgsl", false]);
});

test("no tile row has more invocations to a row than the subgroups that reduce it hold", () => {
  for (let D = 4; D <= 256; D += 4) {
    for (const Tq of [64, 2048, 8192]) {
      const [{ constants }] = plan({ D, Tq }, device(HARDWARE, FEATURES, LARGE_LIMITS)).passes;
      assert.ok(Number(constants.TX) <= 16, `D=${D} Tq=${Tq}: TX=${constants.TX}`);
    }
  }
});

test("elements are read in the way that the type and the device have", () => {
  const storage = (/** @type {string} */ dtype, /** @type {string[]} */ features) =>
    OPS.flatMap((op) => plan({ op, dtype }, device(HARDWARE, features)).passes).map(
      ({ roles }) => roles.storage,
    );
  const all = (/** @type {string} */ file) => Array(3).fill(`common/storage_${file}.wgsl`);
  assert.deepEqual(storage("f32", FEATURES), all("f32x4"));
  assert.deepEqual(storage("f16", FEATURES), all("f16x4"));
  assert.deepEqual(storage("f16", []), all("f16x4_packed"));
});

test("16384 bytes of workgroup memory lead to a tile that fits them, more to a larger one", () => {
  const bytes = (/** @type {any} */ pass) =>
    Object.values(pass.workgroupBytes).reduce((sum, n) => sum + Number(n), 0);
  for (const op of OPS) {
    for (const D of [64, 128, 256]) {
      for (const Tq of [512, 2048, 8192]) {
        const chosen = plan({ op, D, Tq });
        assert.equal(chosen.kernel, `fa2_${op}_wide`);
        for (const pass of chosen.passes) {
          assert.ok(bytes(pass) <= 16384, `${pass.kernel} D=${D} T=${Tq}: ${bytes(pass)}`);
          assert.ok(pass.invocations <= DEFAULT_LIMITS.maxComputeInvocationsPerWorkgroup);
        }
      }
    }
    const long = { op, H: 8, Tq: 8192 };
    const roomy = plan(long, device(HARDWARE, FEATURES, LARGE_LIMITS)).passes;
    assert.ok(bytes(roomy.at(-1)) > 16384);
    assert.equal(plan(long).tile?.Br, 64);
  }
});
