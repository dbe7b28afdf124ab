// The backward: which kernels run in which order, what they are given, what the library allocates.
import assert from "node:assert/strict";
import test from "node:test";
import { factsOf } from "../../static/js/attention/facts.js";
import { createAttention, Unsupported } from "../../static/js/attention/index.js";
import { DEFAULT_LIMITS, requiredLimits } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";
import { fakeBuffer, fakeDevice } from "./attention-device.js";
import { SHADERS } from "./attention-files.js";

const UNIFORM = 256; // bytes a pass
const SPEC = /** @type {const} */ ({
  op: "backward",
  B: 2,
  H: 6,
  Hkv: 2,
  Tq: 70,
  Tk: 110,
  D: 5,
});

/** @param {object} [changes] @param {string} [kernel] */
const planOf = (changes = {}, kernel = "auto", limits = DEFAULT_LIMITS) =>
  buildPlan(/** @type {any} */ ({ ...SPEC, ...changes }), factsOf({ limits }), { kernel });

/** @param {object} spec @param {RegExp} text @param {string} [kernel] */
const refused = (spec, text, kernel = "auto", limits = DEFAULT_LIMITS) =>
  assert.throws(
    () => planOf(spec, kernel, limits),
    (/** @type {Error} */ error) => {
      assert.ok(error instanceof Unsupported, `${error}`);
      assert.match(error.message, text);
      return true;
    },
  );

const names = (/** @type {ReturnType<typeof planOf>} */ plan) =>
  plan.passes.map(({ kernel }) => kernel);

test("fa2 runs delta, then dK and dV by key tiles, then dQ by query tiles", () => {
  const plan = planOf();
  assert.deepEqual([plan.kernel, plan.family, plan.dispatches], ["fa2_backward", "fa2", 3]);
  assert.deepEqual(names(plan), ["fa2_delta", "fa2_dkdv", "fa2_dq"]);
  const [delta, dkdv, dq] = plan.passes;
  assert.equal(delta.workgroups, 2 * 6 * Math.ceil(70 / Number(delta.constants.BR)));
  assert.equal(dkdv.workgroups, 2 * 2 * Math.ceil(110 / Number(dkdv.constants.BC)));
  assert.equal(dq.workgroups, 2 * 6 * Math.ceil(70 / Number(dq.constants.BR)));
  assert.deepEqual(plan.tile, { Br: dq.constants.BR, Bc: dkdv.constants.BC });
  assert.deepEqual(names(planOf({}, "fa2_backward")), names(plan));
});

test("the baseline makes attn and dscores, unless the caller has attn from the forward", () => {
  const plan = planOf({}, "baseline");
  const rest = ["attn_dscores", "attn_dq", "attn_dk", "attn_dv"];
  assert.deepEqual(names(plan), ["attn_recompute", ...rest]);
  assert.equal(plan.tile, null);
  const matrix = 4 * 2 * 6 * 70 * 110;
  assert.deepEqual(plan.scratch, { attn: matrix, dscores: matrix });
  const given = planOf({ attn: true }, "baseline");
  assert.deepEqual(names(given), rest);
  assert.deepEqual(given.scratch, { dscores: matrix });
  assert.equal(given.buffers.attn, matrix);
});

test("bytes of each buffer of a backward, counted anew", () => {
  const rows = 4 * 2 * 70 * 6 * 5;
  const keys = 4 * 2 * 110 * 2 * 5;
  const lse = 4 * 2 * 6 * 70;
  const gradients = { do: rows, dq: rows, dk: keys, dv: keys };
  const inputs = { q: rows, k: keys, v: keys };
  assert.deepEqual(planOf().buffers, { ...inputs, o: rows, lse, ...gradients });
  // What is not bound is not asked for: fa2 needs no attn, the baseline no o.
  assert.deepEqual(planOf({ attn: true }).buffers, planOf().buffers);
  assert.deepEqual(planOf({}, "baseline").buffers, { ...inputs, lse, ...gradients });
  const packed = planOf({ Tk: 70, layout: "packed" }).buffers;
  assert.equal(packed.qkv, 4 * 2 * 70 * (6 + 2 + 2) * 5);
  assert.deepEqual([packed.dq, packed.dk, packed.q], [rows, 4 * 2 * 70 * 2 * 5, undefined]);
});

test("fa2 allocates 4 or 8 bytes a row beside its uniforms, whatever the head size and the keys", () => {
  for (const changes of [{}, { D: 256 }, { Tk: 4000 }, { Tq: 9999 }, { B: 7 }, { attn: true }]) {
    const { B, H, Tq } = { ...SPEC, ...changes };
    const plan = planOf(changes);
    const rows = B * H * Tq;
    const scratch =
      plan.kernel === "fa2_backward_wide" ? { row_terms: 8 * rows } : { delta: 4 * rows };
    assert.deepEqual(plan.scratch, scratch);
    assert.equal(plan.scratchBytes, Object.values(scratch)[0]);
    assert.equal(plan.ownBytes, plan.scratchBytes + plan.passes.length * UNIFORM);
  }
});

test("a forward allocates nothing but its uniforms", () => {
  for (const kernel of ["fa2", "baseline"]) {
    const plan = planOf({ op: "forward", attn: true }, kernel);
    assert.deepEqual([plan.scratch, plan.ownBytes], [{}, 2 * UNIFORM]);
    assert.equal(planOf({ op: "forward" }, kernel).ownBytes, UNIFORM);
  }
});

test("gradients lie as o, k and v do in their layout; explicit strides replace that", () => {
  const strides = (/** @type {object} */ changes, /** @type {string} */ t) => {
    const { params } = planOf(changes);
    return ["offset", "batch", "row", "head"].map((name) => params[`${t}_${name}`]);
  };
  assert.deepEqual(strides({}, "dq"), [0, 70 * 30, 30, 5]);
  assert.deepEqual(strides({}, "do"), strides({}, "o"));
  assert.deepEqual(strides({}, "dk"), [0, 110 * 10, 10, 5]);
  assert.deepEqual(strides({ layout: "bhtd" }, "dv"), [0, 2 * 110 * 5, 5, 110 * 5]);
  assert.deepEqual(strides({ layout: "bhtd" }, "do"), [0, 6 * 70 * 5, 5, 70 * 5]);
  assert.deepEqual(strides({ Tk: 70, layout: "packed" }, "dk"), [0, 70 * 10, 10, 5]);
  const own = { batch: 9000, row: 40, head: 6, offset: 3 };
  assert.deepEqual(strides({ strides: { dk: own } }, "dk"), [3, 9000, 40, 6]);
});

test("matrices that the device cannot hold are refused with both numbers", () => {
  const T = { B: 1, H: 1, Hkv: 1, Tq: 8192, Tk: 8192 };
  const text = /attn needs a buffer of 268435456 bytes, .* 134217728 .*kernel=fa2/;
  refused(T, text, "baseline");
  refused({ ...T, attn: true }, /attn needs .*leave attn out/, "baseline");
  planOf(T, "fa2");
  const large = { ...DEFAULT_LIMITS, maxStorageBufferBindingSize: 2 ** 30, maxBufferSize: 2 ** 30 };
  planOf(T, "baseline", large);
  const huge = { B: 1, H: 1, Hkv: 1, Tq: 5e7, Tk: 5e7, D: 1 }; // beyond exact integers
  refused(huge, /attn needs a buffer of 10000000000000000 bytes, .* 1073741824/, "baseline", large);
  const asked = requiredLimits({ ...SPEC, ...T }, { limits: large }, { kernel: "baseline" });
  assert.deepEqual(asked, { maxStorageBufferBindingSize: 2 ** 28 });
  assert.deepEqual(requiredLimits({ ...SPEC, ...T }, { limits: large }), {});
  const few = { ...DEFAULT_LIMITS, maxStorageBuffersPerShaderStage: 7 };
  refused({}, /fa2_dkdv binds 8 storage buffers, this device allows 7/, "fa2", few);
});

test("what no backward takes is refused by the backward's name", () => {
  refused({ softcap: 3 }, /softcap=3: kernel fa2_backward/);
  refused({ bias: "tt" }, /bias=tt: kernel fa2_backward/, "fa2");
  refused({ window: [2, 0] }, /window=2:0: kernel attn_backward/, "baseline");
  refused({ D: 257 }, /D=257: kernel fa2_backward takes head sizes up to 256/);
  refused({}, /op=backward: kernel fa2_forward computes forward only/, "fa2_forward");
});

test("every pass of a backward is cut, and together the steps are all of its work", () => {
  const { passes } = planOf();
  const pairs = 2 * 6 * (70 * 41 + (69 * 70) / 2); // row i sees i + 41 keys
  assert.deepEqual(
    passes.map(({ work }) => work),
    [2 * 5 * 2 * 6 * 70, 8 * 5 * pairs, 6 * 5 * pairs],
  );
});

/** @param {import("../../static/js/attention/types.js").Plan} plan */
const buffersFor = ({ buffers }) =>
  Object.fromEntries(Object.entries(buffers).map(([name, size]) => [name, fakeBuffer(size)]));

/** Bytes of the buffers that exist on a fake device, by label. @param {any} device */
function liveBytes(device) {
  /** @type {Record<string, number>} */
  const bytes = {};
  for (const { label, size } of device.log.buffers) bytes[label] = (bytes[label] ?? 0) + size;
  return bytes;
}

test("the scratch is exactly what the plan says, bound between the passes, freed by destroy", async () => {
  for (const kernel of ["fa2", "baseline"]) {
    const device = fakeDevice();
    const fa = createAttention(device, { shaders: SHADERS });
    const op = await fa.prepare(SPEC, { kernel });
    const label = (/** @type {string} */ name) => `${op.kernel} ${name}`;
    const scratch = Object.entries(op.plan.scratch).map(([n, bytes]) => [label(n), bytes]);
    const expected = {
      ...Object.fromEntries(scratch),
      [label("params")]: op.dispatches * UNIFORM,
    };
    assert.deepEqual(liveBytes(device), expected);
    assert.deepEqual(fa.allocated(), expected);
    assert.equal(op.scratchBytes, op.plan.scratchBytes);

    const encoder = device.createCommandEncoder();
    op.encode(encoder, buffersFor(op.plan));
    op.encode(encoder, buffersFor(op.plan));
    assert.deepEqual(liveBytes(device), expected, "encode allocates nothing");
    const bound = device.log.dispatches.map(({ group }, /** @type {number} */ n) =>
      Object.fromEntries(
        op.plan.passes[n % op.dispatches].bindings.map(({ name }, b) => [
          name,
          group.entries[b + 1].resource.buffer,
        ]),
      ),
    );
    for (const name of Object.keys(op.plan.scratch)) {
      const users = bound.flatMap((buffers) => buffers[name] ?? []);
      assert.ok(users.length >= 4 && new Set(users).size === 1, name);
      assert.ok(device.log.buffers.has(users[0]));
    }
    op.destroy();
    assert.deepEqual([liveBytes(device), fa.allocated()], [{}, {}]);
  }
});

test("a backward binds the caller's buffers in the kernels' order", async () => {
  const device = fakeDevice();
  const op = await createAttention(device, { shaders: SHADERS }).prepare(SPEC);
  const buffers = buffersFor(op.plan);
  op.encode(device.createCommandEncoder(), buffers);
  const [delta, dkdv, dq] = device.log.dispatches.map(({ group }) =>
    group.entries.slice(1).map(({ resource }) => resource.buffer),
  );
  const own = delta[2];
  const inputs = ["q", "k", "v", "do", "lse"].map((name) => buffers[name]);
  assert.deepEqual(delta, [buffers.o, buffers.do, own]);
  assert.deepEqual(dkdv, [...inputs, own, buffers.dk, buffers.dv]);
  assert.deepEqual(dq, [...inputs, own, buffers.dq]);
  const { do: _, ...others } = buffers;
  assert.throws(
    () => op.encode(device.createCommandEncoder(), others),
    /buffer do is missing: this operation binds o, do, q, k, v, lse, dk, dv, dq$/,
  );
});

test("a device without memory for the scratch is a refusal, and nothing stays behind", async () => {
  const device = fakeDevice();
  const fa = createAttention(device, { shaders: SHADERS });
  await fa.prepare(SPEC); // compiled by now: the scope of the next one is that of the allocation
  const before = liveBytes(device);
  device.popErrorScope = async () => ({ message: "full" });
  await assert.rejects(fa.prepare(SPEC), (error) => {
    assert.ok(error instanceof Unsupported, `${error}`);
    assert.match(
      error.message,
      /fa2_backward allocates 4128 bytes itself, .*out of memory \(full\)/,
    );
    return true;
  });
  assert.deepEqual(liveBytes(device), before);
});
