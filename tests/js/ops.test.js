// Operations on a device without a GPU: order, failures, and nothing left behind.
import assert from "node:assert/strict";
import test from "node:test";
import { CompileError, SpecError, Unsupported } from "../../static/js/attention/index.js";
import { createOps, GpuTensor } from "../../static/js/ops.js";
import { SHADERS } from "./attention-files.js";
import { fakeDevice, gate } from "./ops-device.js";

const [B, T, C, H] = [2, 5, 12, 3];

/** @param {object} [fails] */
function setUp(fails) {
  const device = fakeDevice(fails);
  const ops = createOps(device, { shaders: SHADERS });
  const random = () => GpuTensor.fromData(device, new Float32Array(B * T * C).fill(0.5));
  const [q, k, v] = [random(), random(), random()];
  const forward = (options) => ops.attentionForwardFA2(q, k, v, B, T, C, H, options);
  const backward = ({ ctx, lse }) => ops.attentionBackwardFA2(q, k, v, ctx, lse, q, B, T, C, H);
  return { device, ops, q, k, v, forward, backward };
}

/** Lets everything that is not held up happen. */
const idle = () => new Promise((resolve) => setTimeout(resolve, 20));

test("forward and backward give tensors of the right shapes by the right kernels", async () => {
  const { device, ops, q, k, v, forward, backward } = setUp();
  const { ctx, lse, attn } = forward();
  const { dq, dk, dv } = backward({ ctx, lse });
  assert.deepEqual(
    [ctx.shape, lse.shape],
    [
      [B, T, C],
      [B, H, T],
    ],
  );
  assert.deepEqual(attn.shape, [B, H, T, T]);
  assert.deepEqual([dq.shape, dk.shape, dv.shape], Array(3).fill([B, T, C]));
  const all = await Promise.all([ctx, lse, attn, dq, dk, dv].map((tensor) => tensor.download()));
  assert.ok(
    all.every((numbers) => numbers.every((x) => x > 0)),
    "an output was not written",
  );
  assert.ok(device.log.dispatches.some((kernel) => /^fa2_(dq)?dkdv/.test(kernel)));
  device.log.dispatches.length = 0;
  await ops.attentionForward(q, k, v, B, T, C, H).ctx.download();
  assert.deepEqual(device.log.dispatches, ["attn_fused_sv"]);
});

test("calls return while their kernels compile, and are submitted in order", async () => {
  const opening = gate();
  const { device, forward, backward } = setUp({ compiling: opening.promise });
  const { dq } = backward(forward());
  await idle();
  assert.deepEqual(device.log.dispatches, []);
  opening.resolve();
  await dq.download();
  const parts = device.log.dispatches.map((kernel) => /^fa2_[a-z]+/.exec(kernel)?.[0]);
  assert.deepEqual(parts, ["fa2_forward", "fa2_row", "fa2_dqdkdv"]);
});

test("tensors may be destroyed right after the call that uses or makes them", async () => {
  const opening = gate();
  const { device, ops, q, k, v, forward } = setUp({ compiling: opening.promise });
  const { ctx, lse } = forward();
  for (const tensor of [q, k, v, lse]) tensor.destroy();
  const other = GpuTensor.fromData(device, new Float32Array(B * T * C).fill(7));
  const hold = other.hold();
  assert.equal(ops.memory.pooledBuffers, 0, "a buffer was given away before its work");
  assert.equal(new Float32Array(hold.buffer.memory)[0], 7);
  opening.resolve();
  await ctx.download();
  assert.equal(new Float32Array(hold.buffer.memory)[0], 7, "the work wrote into another tensor");
  hold.release();
  for (const tensor of [ctx, other]) tensor.destroy();
  assert.equal(ops.memory.liveBytes, 0);
});

test("attn exists only when it is looked at, once, or in the same run if asked for", async () => {
  const { device, ops, forward } = setUp();
  const matrix = 4 * B * H * T * T;
  const sizes = () => [...device.log.buffers].map(({ size }) => size);
  const lazy = forward();
  await lazy.ctx.download();
  assert.ok(!sizes().includes(matrix));
  const before = ops.memory.liveBytes;
  const { attn } = lazy;
  assert.equal(lazy.attn, attn);
  await attn.download();
  assert.equal(ops.memory.liveBytes, before + matrix, "the second o and lse must be gone");
  device.log.dispatches.length = 0;
  const eager = forward({ attn: true });
  await eager.attn.download();
  const [first, ...others] = device.log.dispatches;
  assert.match(first, /^fa2_forward/);
  assert.deepEqual(others, ["attn_writeback"]);
  eager.destroy();
  lazy.destroy();
  lazy.destroy(); // what is gone is passed over
  assert.equal(ops.memory.liveBytes, 3 * 4 * B * T * C);
});

test("wrong arguments are refused by the call, and nothing is left behind", () => {
  const { ops, q, k, v, forward } = setUp();
  const before = ops.memory;
  const call =
    (...words) =>
    () =>
      ops.attentionForwardFA2(...words);
  assert.throws(call(q, k, v, B, T, C, 5), /C=12, H=5: H must divide C/);
  assert.throws(call(q, k, v, B, 0, C, H), /T=0: must be a whole number/);
  assert.throws(call(q, k, v, B, T, C, undefined), /H=undefined/);
  assert.throws(call(q, k, v, B, 6, C, H), /q has 120 elements, \[120\]; these sizes need 144/);
  assert.throws(call(q, new Float32Array(120), v, B, T, C, H), /k is no GpuTensor/);
  const foreign = GpuTensor.fromData(fakeDevice(), new Float32Array(B * T * C));
  assert.throws(call(q, k, foreign, B, T, C, H), /v belongs to another device/);
  assert.throws(call(q, k, v, 1, 1, 257, 1), Unsupported);
  const { ctx, lse } = forward();
  const back =
    (...words) =>
    () =>
      ops.attentionBackwardFA2(q, k, v, ...words, B, T, C, H);
  assert.throws(back(ctx, ctx, q), /lse has 120 elements/);
  assert.throws(back(lse, lse, q), /ctx has 30 elements/);
  assert.throws(back(ctx, lse, lse), /dctx has 30 elements/);
  for (const tensor of [ctx, lse]) tensor.destroy();
  k.destroy();
  assert.throws(call(q, k, v, B, T, C, H), /k was destroyed/);
  assert.ok(ops.memory.liveBytes <= before.liveBytes + 4 * B * T * (C + H));
});

test("a kernel that does not compile is told by the downloads and may compile later", async () => {
  const fails = { pipeline: new Error("no such builtin") };
  const { ops, q, k, v, forward, backward } = setUp(fails);
  const first = forward();
  const { dv } = backward(first);
  await assert.rejects(first.ctx.download(), CompileError);
  await assert.rejects(dv.download(), /no such builtin/);
  await assert.rejects(first.attn.download(), CompileError);
  first.destroy();
  dv.destroy();
  fails.pipeline = undefined;
  const second = forward();
  assert.ok((await second.ctx.download()).every((x) => x > 0));
  second.destroy();
  await idle();
  const gradients = 2 * 4 * B * T * C; // dq and dk, which nobody destroyed
  assert.equal(ops.memory.liveBytes, 3 * 4 * B * T * C + gradients);
  for (const tensor of [q, k, v]) tensor.destroy();
});

test("what the device says against the work is told by the downloads of all that follows", async () => {
  const fails = {};
  const { forward, backward } = setUp(fails);
  await forward().ctx.download(); // compiled now
  fails.scope = { validation: "binding 3 is too small" };
  const made = forward();
  const { dk } = backward(made);
  await assert.rejects(made.ctx.download(), /GPU error: binding 3 is too small/);
  await assert.rejects(dk.download(), /GPU error: binding 3 is too small/);
});

test("a thousand calls leave nothing behind, and make no buffer after the first", async () => {
  const { device, ops, forward, backward } = setUp();
  const round = async () => {
    const made = forward();
    const gradients = Object.values(backward(made));
    await gradients[0].download();
    made.destroy();
    for (const tensor of gradients) tensor.destroy();
  };
  await round();
  const [before, { created }] = [ops.memory, { ...device.log }];
  for (let n = 0; n < 500; n++) await round();
  assert.deepEqual(ops.memory, before);
  assert.equal(device.log.created, created);
});

test("calls of ever new sizes keep a bounded number of kernels, those in use among them", async () => {
  const { device, ops } = setUp();
  const call = async (t) => {
    const x = GpuTensor.fromData(device, new Float32Array(t * 8));
    const made = ops.attentionForwardFA2(x, x, x, 1, t, 8, 1);
    await made.ctx.download();
    made.destroy();
    x.destroy();
  };
  let most = 0;
  await call(1);
  for (let t = 2; t <= 60; t++) {
    await call(t);
    const { created } = device.log;
    await call(1);
    assert.equal(device.log.created, created, "a kernel that is used again and again was dropped");
    most = Math.max(most, ops.memory.operationBytes);
  }
  assert.equal(ops.memory.operationBytes, most);
  assert.ok(most <= 16 * 2 * 256, `${most} bytes of uniforms`);
});

test("destroyed ops finish what was asked for, free everything of theirs, and refuse more", async () => {
  const opening = gate();
  const { device, ops, forward, ...inputs } = setUp({ compiling: opening.promise });
  const { ctx, lse } = forward();
  ops.destroy();
  assert.throws(() => forward(), SpecError);
  opening.resolve();
  assert.ok((await ctx.download()).every((x) => x > 0));
  await idle();
  assert.equal(ops.memory.operationBytes, 0);
  for (const tensor of [ctx, lse, inputs.q, inputs.k, inputs.v]) tensor.destroy();
  ops.destroy();
  assert.equal(device.log.buffers.size, 0);
});
