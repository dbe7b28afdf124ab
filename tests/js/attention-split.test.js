// Few queries and many keys: when the keys are cut, into how many slices, and what that takes.
import assert from "node:assert/strict";
import test from "node:test";
import { Unsupported } from "../../static/js/attention/errors.js";
import { factsOf } from "../../static/js/attention/facts.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";

const SPLIT = "fa2_forward_split";
const INFOS = { software: { architecture: "swiftshader" }, hardware: { vendor: "nvidia" } };

/** @param {object} spec @param {string} [kernel] @param {object} [info] */
const planOn = (spec, kernel = "auto", info = INFOS.hardware) =>
  buildPlan(/** @type {any} */ (spec), factsOf({ limits: DEFAULT_LIMITS, info }), { kernel });

test("auto cuts the keys where queries are few and keys are many, else never", () => {
  assert.equal(planOn({ Tq: 1, Tk: 4096, D: 64 }).kernel, SPLIT);
  assert.equal(planOn({ Tq: 8, Tk: 4096, D: 64 }, "fa2").kernel, SPLIT);
  assert.notEqual(planOn({ Tq: 9, Tk: 4096, D: 64 }).kernel, SPLIT);
  assert.equal(planOn({ Tq: 1, Tk: 4096, D: 64 }, "auto", INFOS.software).kernel, SPLIT);
  assert.notEqual(planOn({ Tq: 2, Tk: 4096, D: 64 }, "auto", INFOS.software).kernel, SPLIT);
  assert.notEqual(planOn({ Tq: 1, Tk: 2, D: 64 }).kernel, SPLIT);
  assert.equal(
    planOn({ Tq: 1, Tk: 2, D: 64 }, SPLIT).kernel,
    SPLIT,
    "named, it takes few keys too",
  );
  assert.throws(
    () => planOn({ Tq: 9, Tk: 4096, D: 64 }, SPLIT),
    (error) => error instanceof Unsupported && /Tq=9: takes up to 8/.test(error.message),
  );
});

test("other kernels know one slice", () => {
  assert.equal(planOn({ Tq: 100, D: 64 }).params.slices, 1);
  assert.equal(planOn({ Tq: 100, D: 64, op: "backward" }).params.slices, 1);
});

test("there are as many slices as fill the machine, none shorter than a block of keys", () => {
  for (const info of Object.values(INFOS)) {
    for (const { B, Hkv, Tk } of [
      { B: 1, Hkv: 1, Tk: 100 },
      { B: 1, Hkv: 1, Tk: 400_000 },
      { B: 1, Hkv: 8, Tk: 4096 },
      { B: 3, Hkv: 7, Tk: 7000 },
      { B: 600, Hkv: 1, Tk: 500 },
    ]) {
      const { params, passes } = planOn({ B, Hkv, H: Hkv, Tq: 1, Tk, D: 32 }, SPLIT, info);
      const blocks = Math.ceil(Tk / Number(passes[0].constants.BC));
      const { slices } = params;
      assert.equal(slices, Math.min(blocks, Math.ceil(512 / (B * Hkv))), `${B} ${Hkv} ${Tk}`);
      assert.equal(passes[0].workgroups, slices * B * Hkv);
      assert.equal(passes[1].workgroups, B * Hkv);
    }
  }
});

test("asking for attn changes neither the slices nor their scratch", () => {
  for (const H of [2, 32]) {
    const spec = { H, Hkv: 2, Tq: 8, Tk: 1000, D: 64 };
    const { params, scratch } = planOn(spec, SPLIT);
    const withAttn = planOn({ ...spec, attn: true }, SPLIT);
    assert.equal(withAttn.params.slices, params.slices);
    assert.deepEqual(withAttn.scratch, scratch);
  }
});

test("query heads that share a key head share its workgroups, up to 16 rows", () => {
  const grid = (/** @type {object} */ spec) =>
    planOn({ Hkv: 2, Tk: 64, D: 64, ...spec }, SPLIT).passes[0];
  const one = grid({ H: 2, Tq: 1 });
  assert.equal(one.workgroups, 2 * Math.ceil(64 / Number(one.constants.BC)));
  const sixteen = grid({ H: 32, Tq: 1 });
  assert.equal(sixteen.constants.BR, 16);
  assert.equal(sixteen.workgroups, 2 * Math.ceil(64 / Number(sixteen.constants.BC)));
  const more = grid({ H: 32, Tq: 2 });
  assert.equal(more.workgroups, 2 * 2 * Math.ceil(64 / Number(more.constants.BC)));
});

test("scratch holds O, a maximum and a sum for each row of each slice", () => {
  const spec = { B: 2, H: 6, Hkv: 2, Tq: 3, Tk: 1000, D: 5 };
  const { params, scratch } = planOn(spec, SPLIT);
  const rows = 2 * 6 * 3 * params.slices;
  assert.deepEqual(scratch, { o_part: 4 * rows * 8, ml_part: 4 * rows * 2 });
});

test("every head size fits the default limits, however many heads share a key", () => {
  for (const info of Object.values(INFOS)) {
    for (const [H, Tq] of [
      [1, 1],
      [4, 1],
      [3, 8],
      [64, 8],
    ]) {
      for (let D = 1; D <= 256; D++) planOn({ H, Hkv: 1, Tq, Tk: 500, D }, SPLIT, info);
    }
  }
});

test("a longer cache compiles nothing anew", () => {
  const constants = (/** @type {number} */ Tk) =>
    planOn({ H: 8, Hkv: 2, Tq: 1, Tk, D: 64 }).passes.map((pass) => pass.constants);
  assert.deepEqual(constants(100_000), constants(1000));
});

test("scratch that the device cannot hold passes the next kernel the request", () => {
  // In f16 the parts of o take twice the bytes of o, which just fits.
  const spec = { B: 2 ** 11, H: 32, Hkv: 1, Tq: 8, Tk: 128, D: 128, dtype: "f16" };
  assert.equal(planOn({ ...spec, B: 2 ** 10 }).kernel, SPLIT);
  const plan = planOn(spec);
  assert.equal(plan.kernel, "fa2_forward_wide");
  assert.deepEqual(plan.scratch, {});
  assert.throws(
    () => planOn(spec, SPLIT),
    (error) =>
      error instanceof Unsupported &&
      /o_part needs a buffer of 268435456 bytes, .* 134217728 .*split the batch/.test(
        error.message,
      ),
  );
});
