// A tuned table changes what is planned, and is refused by name where it cannot be followed.
import assert from "node:assert/strict";
import test from "node:test";
import { factsOf } from "../../static/js/attention/facts.js";
import { createAttention, SpecError } from "../../static/js/attention/index.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";
import { checkTuned } from "../../static/js/attention/tuned.js";
import { fakeDevice } from "./attention-device.js";
import { SHADERS } from "./attention-files.js";

const SPEC = { Tq: 256, D: 64 };
const FACTS = factsOf({ limits: DEFAULT_LIMITS, info: { vendor: "acme" } });
const TILE = { maxD: 64, minT: 200, TX: 8, TY: 4, V_CHUNK: 16, chunk: 32, why: "1.2 ms" };

/** @param {object} [changes] */
const table = (changes = {}) => ({ kernels: { fa2_forward: [{ ...TILE, ...changes }] } });

/** @param {any} tuned @param {RegExp} text */
const refused = (tuned, text) =>
  assert.throws(
    () => checkTuned(tuned),
    (error) => {
      assert.ok(error instanceof SpecError, String(error));
      assert.match(error.message, text);
      return true;
    },
  );

/** @param {object} [spec] @param {string} [kernel] */
const tileOf = (spec = {}, kernel = "fa2_forward", tuned = table()) => {
  const { passes } = buildPlan({ ...SPEC, ...spec }, FACTS, { kernel }, checkTuned(tuned));
  return [passes[0].constants.TX, passes[0].constants.TY, passes[0].why];
};

test("a tuned tile stands before the shipped ones, where its conditions hold", () => {
  assert.deepEqual(tileOf(), [8, 4, "1.2 ms"]);
  const shipped = tileOf({ Tq: 100 });
  assert.notDeepEqual(shipped, [8, 4, "1.2 ms"]);
  assert.deepEqual(tileOf({}, "fa2_forward", table({ adapter: "other" })), shipped);
  assert.deepEqual(tileOf({}, "fa2_forward", table({ V_CHUNK: 4096 })), shipped, "does not fit");
});

test("a tuned choice comes first where its conditions hold, whatever a name says otherwise", () => {
  const choices = [{ op: "forward", maxT: 300, kernel: "attn_fused_sv", why: "faster" }];
  const kernelOf = (/** @type {object} */ spec, kernel = "auto") =>
    buildPlan({ ...SPEC, ...spec }, FACTS, { kernel }, checkTuned({ choices })).kernel;
  assert.equal(kernelOf({}), "attn_fused_sv");
  assert.equal(kernelOf({ Tq: 301 }), buildPlan({ Tq: 301, D: 64 }, FACTS).kernel);
  assert.equal(kernelOf({}, "fa2_forward"), "fa2_forward");
  assert.notEqual(kernelOf({}, "fa2"), "attn_fused_sv");
  assert.notEqual(kernelOf({ op: "backward" }), "attn_backward");
});

test("a table of strangers is refused by name", () => {
  refused({ kernels: { fa3: [] } }, /tuned: there is no kernel fa3; it must be one of .*fa2_dq/);
  refused(table({ WARPS: 4 }), /tuned\.fa2_forward\[0\]\.WARPS: tiles of fa2_forward are TX, TY/);
  refused(table({ maxd: 3 }), /fa2_forward\[0\]\.maxd: tiles of/);
  refused(table({ TX: 0 }), /fa2_forward\[0\]\.TX=0: must be a whole number, 1 to 4096/);
  refused(table({ TX: undefined }), /TX=undefined: must be/);
  refused(table({ minT: "many" }), /minT=many: must be a number/);
  const roles = { storage: "common/masking.wgsl" };
  refused(table({ roles }), /roles\.storage=common\/masking\.wgsl: fa2_forward has no such file/);
  const row = { op: "forward", kernel: "fa2_backward" };
  refused({ choices: [row] }, /choices\[0\]: no kernel fa2_backward can be chosen for op=forward/);
  const odd = { op: "forward", kernel: "fa2_forward", when: 3 };
  refused({ choices: [odd] }, /choices\[0\]\.when: must be one of minD, maxD/);
});

test("attention is created with a table, and prepares what it says", async () => {
  const device = fakeDevice();
  const fa = createAttention(device, { shaders: SHADERS, tuned: table() });
  const op = await fa.prepare(SPEC, { kernel: "fa2_forward" });
  assert.equal(op.plan.passes[0].constants.TX, 8);
  assert.match(device.log.modules[0], /const TX: u32 = 8u;/);
  const tuned = { kernels: { fa3: [] } };
  assert.throws(() => createAttention(device, { tuned }), /there is no kernel fa3/);
});
