// A tuned table changes what is planned, and is refused by name where it cannot be followed.
import assert from "node:assert/strict";
import test from "node:test";
import { checkTuned } from "../../static/js/attention/check-tuned.js";
import { factsOf } from "../../static/js/attention/facts.js";
import {
  CompileError,
  createAttention,
  diagnose,
  SpecError,
} from "../../static/js/attention/index.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";
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
  refused(table({ minT: "many" }), /minT="many": must be a number/);
  const roles = { storage: "common/masking.wgsl" };
  refused(table({ roles }), /roles\.storage=common\/masking\.wgsl: fa2_forward has no such file/);
  const row = { op: "forward", kernel: "fa2_backward" };
  refused({ choices: [row] }, /choices\[0\]: no kernel fa2_backward can be chosen for op=forward/);
  const odd = { op: "forward", kernel: "fa2_forward", when: 3 };
  refused({ choices: [odd] }, /choices\[0\]\.when: must be one of minD, maxD/);
});

test("a value of the wrong type is refused by its row, key, value and rule", () => {
  refused(null, /^tuned=null: must be an object/);
  refused({ kernels: [] }, /^tuned\.kernels=\[\]: must be an object/);
  refused({ kernels: { fa2_dq: {} } }, /^tuned\.fa2_dq=\{\}: must be a list/);
  refused({ kernels: { fa2_dq: [null] } }, /^tuned\.fa2_dq\[0\]=null: must be an object/);
  refused({ choices: {} }, /^tuned\.choices=\{\}: must be a list/);
  refused({ choices: ["fa2_dq"] }, /^tuned\.choices\[0\]="fa2_dq": must be an object/);
  refused({ strict: 1 }, /^tuned\.strict=1: must be true or false/);
  for (const [key, value, rule] of [
    ["TX", true, "a whole number, 1 to 4096"],
    ["TX", "8", "a whole number, 1 to 4096"],
    ["minT", "300", "a number, 0 and up"],
    ["maxD", null, "a number, 0 and up"],
    ["subgroups", [4], "a number, 0 and up"],
    ["causal", "false", "true or false"],
    ["dtype", "f32", "a list of names"],
    ["features", [1], "a list of names"],
    ["align", 0, "a whole number, 1 to 4096"],
    ["adapter", ["acme"], "a text"],
    ["matrix", {}, "a text"],
    ["why", 1.2, "a text"],
    ["roles", "storage", "an object"],
  ]) {
    const found = `tuned.fa2_forward[0].${key}=${JSON.stringify(value)}: must be ${rule}`;
    const exactly = new RegExp(`^${found.replace(/[[\]{}.]/g, "\\$&")}$`);
    refused(table({ [String(key)]: value }), exactly);
  }
});

/** Two tiles, of which this device compiles the second only. */
const FIRST = { ...TILE, V_CHUNK: 32 };
const TWO = { kernels: { fa2_forward: [FIRST, TILE] } };
const ASSERTED = { type: "error", message: "const assertion failed", lineNum: 39, linePos: 1 };

/** @param {(code: string) => boolean} fails */
const pickyDevice = (fails) => {
  const device = fakeDevice();
  const { createShaderModule } = device;
  device.createShaderModule = (/** @type {any} */ given) => {
    const module = createShaderModule(given);
    return fails(given.code)
      ? { getCompilationInfo: async () => ({ messages: [ASSERTED] }) }
      : module;
  };
  return device;
};
const refusesFirst = () => pickyDevice((code) => code.includes("const V_CHUNK: u32 = 32u;"));

test("a tuned tile that does not compile is left out with a warning, and the next one taken", async () => {
  const device = refusesFirst();
  const fa = createAttention(device, { shaders: SHADERS, tuned: TWO });
  const options = { kernel: "fa2_forward" };
  const { plan } = await fa.prepare(SPEC, options);
  assert.equal(plan.passes[0].constants.V_CHUNK, 16);
  assert.equal(plan.passes[0].why, "1.2 ms");
  assert.deepEqual(plan.warnings, [
    "a tuned tile of fa2_forward does not compile for this request and was left out (TX=8,TY=4," +
      "V_CHUNK=32,chunk=32; fa2_forward.wgsl:39:1: const assertion failed); `fa2 tune` of this " +
      "size finds another",
  ]);
  assert.equal((await fa.prepare({ ...SPEC, Tq: 100 }, options)).plan.warnings, undefined);
  assert.equal(device.log.scopes, 0);
  const { plan: told, messages } = await diagnose(refusesFirst(), SPEC, {
    ...{ ...options, shaders: SHADERS, tuned: TWO },
  });
  assert.deepEqual([told.passes[0].constants.V_CHUNK, messages], [16, []]);
});

test("where the registry's own tile does not compile either, or the table is strict, it is an error", async () => {
  const prepare = (/** @type {any} */ device, /** @type {any} */ tuned) =>
    createAttention(device, { shaders: SHADERS, tuned }).prepare(SPEC, { kernel: "fa2_forward" });
  const all = pickyDevice(() => true);
  await assert.rejects(prepare(all, TWO), CompileError);
  assert.equal(all.log.modules.length, 3);
  await assert.rejects(prepare(refusesFirst(), { ...TWO, strict: true }), CompileError);
  await prepare(refusesFirst(), { kernels: { fa2_forward: [TILE] }, strict: true });
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
