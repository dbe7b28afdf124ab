// The kernels on the matrix unit: chosen where everything that they need is there, else refused by name.
import assert from "node:assert/strict";
import test from "node:test";
import { factsOf } from "../../static/js/attention/facts.js";
import { buildPlan } from "../../static/js/attention/plan.js";
import { kernelNamed } from "../../static/js/attention/registry.js";
import { completeSpec } from "../../static/js/attention/spec.js";
import { fitTile } from "../../static/js/attention/tiles.js";
import { deviceFor, LARGE_LIMITS } from "./attention-variants.js";

const FEATURES = ["subgroups", "shader-f16", "chromium-experimental-subgroup-matrix"];
const CONFIG = { componentType: "f16", resultComponentType: "f32", M: 16, N: 16, K: 16 };

/** @param {object} [info] @param {string[]} [features] @param {object} [limits] */
const gpu = (info = {}, features = FEATURES, limits = {}) =>
  factsOf({
    limits: { ...LARGE_LIMITS, ...limits },
    features: new Set(features),
    info: /** @type {any} */ ({
      vendor: "nvidia",
      subgroupMinSize: 32,
      subgroupMaxSize: 32,
      subgroupMatrixConfigs: [CONFIG],
      ...info,
    }),
  });

const SPEC = { op: "forward", H: 16, T: 4096, D: 64, dtype: "f16" };

/** @param {object} [spec] @param {any} [facts] @param {string} [kernel] */
const plan = (spec = {}, facts = gpu(), kernel = "auto") => {
  const { T, ...rest } = /** @type {any} */ ({ ...SPEC, ...spec });
  return buildPlan({ Tq: T, Tk: T, ...rest }, facts, { kernel });
};

test("auto takes the matrix kernels for f16 where the adapter has them", () => {
  assert.equal(plan().kernel, "fa2_forward_matrix");
  const backward = plan({ op: "backward" });
  assert.equal(backward.kernel, "fa2_backward_matrix");
  assert.deepEqual(
    backward.passes.map(({ kernel }) => kernel),
    ["fa2_delta_matrix", "fa2_dkdv_matrix", "fa2_dq_matrix"],
  );
  assert.deepEqual(plan().passes[0].enable, [
    "f16",
    "subgroups",
    "chromium_experimental_subgroup_matrix",
  ]);
});

test("tiles follow the length, the head size and the workgroup memory", () => {
  /** @param {object} spec @param {object} [limits] */
  const tile = (spec, limits) => plan(spec, gpu({}, FEATURES, limits)).tile;
  assert.deepEqual(tile({}), { Br: 128, Bc: 16 });
  assert.deepEqual(tile({ T: 1024 }), { Br: 64, Bc: 64 });
  assert.deepEqual(tile({ D: 128 }), { Br: 128, Bc: 32 });
  const small = { maxComputeWorkgroupStorageSize: 32768 };
  assert.deepEqual(tile({ T: 1024 }, small), { Br: 128, Bc: 16 });
  assert.deepEqual(tile({ D: 128 }, small), { Br: 128, Bc: 16 });
  assert.deepEqual(tile({ op: "backward" }), { Br: 64, Bc: 128 });
  assert.deepEqual(tile({ op: "backward" }, small), { Br: 64, Bc: 64 });
});

test("auto passes over them where anything is missing, and a kernel named alone says what", () => {
  const { q, k, v, o } = Object.fromEntries(
    ["q", "k", "v", "o"].map((name) => [name, { offset: 0, batch: 2 ** 22, row: 1028, head: 64 }]),
  );
  /** @type {[object, any, RegExp][]} */
  const cases = [
    [{ dtype: "f32" }, gpu(), /dtype/],
    [{ D: 72 }, gpu(), /D=72: takes multiples of 16/],
    [{ D: 144 }, gpu(), /D=144/],
    [{ Tq: 15, Tk: 4096, T: undefined }, gpu(), /Tq=15: takes 16 and up/],
    [{ strides: { q, k, v, o } }, gpu(), /strides\.q\.row=1028: takes multiples of 16/],
    [{}, gpu({}, FEATURES.slice(0, 2)), /lacks the feature chromium-experimental-subgroup-matrix/],
    [{}, gpu({}, FEATURES.slice(1)), /lacks the feature subgroups/],
    [{}, gpu({ subgroupMinSize: 16 }), /as small as 16/],
    [{}, gpu({ subgroupMaxSize: 64 }), /as large as 64/],
    [
      {},
      gpu({ subgroupMatrixConfigs: [{ ...CONFIG, M: 8 }] }),
      /no subgroup matrices f16:f32:16x16x16/,
    ],
  ];
  for (const [spec, facts, why] of cases) {
    assert.doesNotMatch(plan(spec, facts).kernel, /matrix/, String(why));
    assert.throws(() => plan(spec, facts, "fa2_forward_matrix"), why);
  }
});

test("arrays in workgroup memory are counted in whole 16 bytes, as WebGPU counts them", () => {
  const row = kernelNamed("fa2_forward_matrix"); // it has an array of 4 bytes
  const facts = deviceFor(/** @type {any} */ (row.needs));
  const spec = completeSpec({ Tq: 1024, D: 64, dtype: "f16" });
  const fits = (/** @type {number} */ maxComputeWorkgroupStorageSize) => {
    const limits = { ...LARGE_LIMITS, maxComputeWorkgroupStorageSize };
    return fitTile(row, spec, { ...facts, limits }, row.tiles.slice(1, 2));
  };
  const fit = fits(65536);
  assert.ok(typeof fit !== "string" && fit.workgroupBytes.outgrown === 4);
  const sum = Object.values(fit.workgroupBytes).reduce((all, n) => all + n, 0);
  assert.match(`${fits(sum)}`, new RegExp(`needs ${sum + 12} bytes of workgroup memory`));
  assert.deepEqual(fits(sum + 12), fit);
});
