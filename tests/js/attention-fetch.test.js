// Files that cannot be had for a while, and texts that are kept.
import assert from "node:assert/strict";
import test from "node:test";
import { ComposeError, createAttention, diagnose } from "../../static/js/attention/index.js";
import { Compositions, partOf } from "../../static/js/attention/parts.js";
import { ShaderSources } from "../../static/js/attention/shader-sources.js";
import { fakeDevice } from "./attention-device.js";
import { SHADERS } from "./attention-files.js";

const BASE = new URL("http://127.0.0.1:9/");
const SPEC = { B: 1, H: 2, Tq: 100, D: 64 };
const TILE = { TX: 8, TY: 4, V_CHUNK: 16, chunk: 32 };
const TUNED = { kernels: { fa2_forward: [TILE] } };

/** A network that the files of BASE come through, but for those that are missing. */
function network() {
  const missing = new Set();
  const { fetch } = globalThis;
  globalThis.fetch = /** @type {any} */ (
    async (/** @type {URL} */ { pathname }) => {
      const path = pathname.slice(1);
      if (missing.has(path)) throw new TypeError("fetch failed");
      return new Response(SHADERS[path]);
    }
  );
  return { missing, close: () => Object.assign(globalThis, { fetch }) };
}

test("a file that a tuned tile's kernel lacks for once ends the request, and costs no tile", async () => {
  const { missing, close } = network();
  try {
    missing.add("common/masking.wgsl");
    const options = { kernel: "fa2_forward" };
    const fa = createAttention(fakeDevice(), { shaderBase: BASE, tuned: TUNED });
    await assert.rejects(fa.prepare(SPEC, options), (error) => {
      assert.ok(error instanceof ComposeError);
      assert.match(error.message, /common\/masking\.wgsl cannot be read from .*fetch failed/);
      return true;
    });
    const asked = { ...options, shaderBase: BASE, tuned: TUNED };
    const told = await diagnose(fakeDevice(), SPEC, asked);
    assert.equal(told.plan.passes[0].constants.V_CHUNK, 16);
    assert.match(told.messages[0].text, /cannot be read/);
    missing.clear();
    const { plan } = await fa.prepare(SPEC, options);
    assert.deepEqual([plan.passes[0].constants.V_CHUNK, plan.warnings], [16, undefined]);
  } finally {
    close();
  }
});

test("a probe that could not be had is asked for again by the next request", async () => {
  const { missing, close } = network();
  try {
    missing.add("subgroup_probe.wgsl");
    const device = Object.assign(fakeDevice(), {
      features: ["subgroups"],
      adapterInfo: { vendor: "acme", subgroupMinSize: 32, subgroupMaxSize: 32 },
    });
    const fa = createAttention(device, { shaderBase: BASE });
    await assert.rejects(fa.prepare(SPEC), /subgroup_probe\.wgsl cannot be read/);
    missing.clear();
    const { plan } = await fa.prepare(SPEC); // this device cannot run it: no subgroups
    assert.equal(plan.passes[0].roles.reduce, "common/reduce_workgroup.wgsl");
  } finally {
    close();
  }
});

test("requests of other lengths share a composed text, and files read anew make another", async () => {
  const fa = createAttention(fakeDevice(), { shaders: SHADERS });
  const passOf = (/** @type {object} */ changes) =>
    fa.plan({ ...SPEC, ...changes }, { kernel: "fa2_forward" }).passes[0];
  const compositions = new Compositions();
  const composed = async (/** @type {object} */ changes, shaders = SHADERS, trace = false) =>
    compositions.of(
      await partOf(passOf(changes), new ShaderSources(BASE, shaders), { trace, most: 8 }),
    );
  const one = await composed({});
  assert.equal(await composed({ Tq: 7, Tk: 99, H: 4 }), one);
  assert.notEqual((await composed({ D: 60 })).text, one.text);
  assert.notEqual((await composed({ causal: false })).text, one.text);
  assert.notEqual((await composed({ dtype: "f16" })).text, one.text);
  assert.notEqual((await composed({}, SHADERS, true)).text, one.text);
  assert.equal(await composed({}), one);
  const changed = { ...SHADERS, "fa2_forward.wgsl": `${SHADERS["fa2_forward.wgsl"]}// more` };
  assert.match((await composed({}, changed)).text, /\/\/ more/);
  assert.equal((await composed({})).text, one.text);
  compositions.forget();
  assert.notEqual(await composed({}), one);
});
