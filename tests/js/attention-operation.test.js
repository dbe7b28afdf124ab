// The library on a device that only remembers what it was told.
import assert from "node:assert/strict";
import test from "node:test";
import { runInNewContext } from "node:vm";
import { CompileError, createAttention, SpecError } from "../../static/js/attention/index.js";
import { PARAMS } from "../../static/js/attention/params.js";
import { plainMessage } from "../../static/js/attention/pipelines.js";
import { fakeBuffer, fakeDevice } from "./attention-device.js";
import { SHADERS } from "./attention-files.js";

/** Index of first_workgroup; end_workgroup and grid_width follow it. */
const FIRST = PARAMS.findIndex(([name]) => name === "first_workgroup");

const SPEC = { B: 2, H: 2, Tq: 100, D: 16 };

/** Buffers of exactly the sizes that a plan asks for. */
const buffersFor = (plan) =>
  Object.fromEntries(Object.entries(plan.buffers).map(([name, size]) => [name, fakeBuffer(size)]));

/** @param {any} device */
const attentionOn = (device, shaders = SHADERS) => createAttention(device, { shaders });

test("one text is compiled once, also by callers that ask at the same time", async () => {
  const device = fakeDevice();
  const fa = attentionOn(device);
  const [one, two] = await Promise.all([fa.prepare(SPEC), fa.prepare({ ...SPEC, Tq: 7, Tk: 99 })]);
  const three = await fa.prepare({ ...SPEC, causal: false });
  assert.equal(device.log.modules.length, 2);
  assert.equal(one.shaderSha256, two.shaderSha256);
  assert.notEqual(one.shaderSha256, three.shaderSha256);
  assert.match(one.shaderSha256, /^[0-9a-f]{64}$/);
  assert.equal(device.log.scopes, 0);
  assert.equal(device.log.deepest, 1, "scopes of concurrent callers must not nest");
});

test("the hash is that of the text that was compiled", async () => {
  const device = fakeDevice();
  const { shaderSha256 } = await attentionOn(device).prepare(SPEC);
  const bytes = new TextEncoder().encode(device.log.modules[0]);
  const hash = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
  assert.equal(shaderSha256, hash);
});

test("encode binds the caller's buffers in the kernel's order and dispatches every pass", async () => {
  const device = fakeDevice();
  const op = await attentionOn(device).prepare({ ...SPEC, attn: true }, { kernel: "fa2_forward" });
  const buffers = buffersFor(op.plan);
  op.encode(device.createCommandEncoder(), buffers);
  const [forward, writeback] = device.log.dispatches;
  assert.deepEqual([forward.entry, writeback.entry], ["fa2_forward", "attn_writeback"]);
  assert.equal(op.dispatches, device.log.dispatches.length);
  const bound = ({ group }) => group.entries.slice(1).map(({ resource }) => resource.buffer);
  assert.deepEqual(
    bound(forward),
    ["q", "k", "v", "o", "lse"].map((name) => buffers[name]),
  );
  assert.deepEqual(
    bound(writeback),
    ["q", "k", "attn"].map((name) => buffers[name]),
  );
  device.log.dispatches.forEach(({ at, x, y }, n) => {
    const { workgroups } = op.plan.passes[n];
    const range = new Uint32Array(device.log.writes[0].bytes, at + 4 * FIRST, 3);
    assert.deepEqual([...range], [0, workgroups, x]);
    assert.equal(x * y, workgroups);
  });
});

test("steps cover the grid of each pass by the ranges in their uniforms", async () => {
  const device = fakeDevice();
  const op = await attentionOn(device).prepare({ ...SPEC, attn: true });
  device.log.writes.length = 0;
  const steps = op.steps(1e5);
  assert.ok(steps.length > 4);
  const [{ bytes }] = device.log.writes;
  const ends = {};
  for (const step of steps) step.encode(device.createCommandEncoder(), buffersFor(op.plan));
  for (const { entry, at, x, y } of device.log.dispatches) {
    const [first, end, width] = new Uint32Array(bytes, at + 4 * FIRST, 3);
    assert.equal(first, ends[entry] ?? 0);
    assert.equal(width, x);
    assert.ok(x * y >= end - first);
    ends[entry] = end;
  }
  assert.deepEqual(
    Object.values(ends),
    op.plan.passes.map(({ workgroups }) => workgroups),
  );
  const total = op.plan.passes.reduce((sum, { work }) => sum + work, 0);
  assert.ok(Math.abs(steps.reduce((sum, { work }) => sum + work, 0) / total - 1) < 1e-9);
});

test("a buffer that is missing or too small is refused with both numbers", async () => {
  const device = fakeDevice();
  const op = await attentionOn(device).prepare(SPEC);
  const encode = (changed) =>
    op.encode(device.createCommandEncoder(), { ...buffersFor(op.plan), ...changed });
  encode({});
  assert.throws(() => encode({ lse: undefined }), /buffer lse is missing: .* q, k, v, o, lse/);
  const short = fakeBuffer(op.plan.buffers.o - 4);
  assert.throws(() => encode({ o: short }), SpecError);
  assert.throws(() => encode({ o: short }), /buffer o has 25596 bytes bound, .* needs 25600/);
  const whole = fakeBuffer(op.plan.buffers.o + 252);
  assert.throws(() => encode({ o: { buffer: whole, offset: 256 } }), /has 25596 bytes/);
  encode({ o: { buffer: fakeBuffer(op.plan.buffers.o + 256), offset: 256 } });
  assert.throws(() => encode({ o: { buffer: whole, size: 8 } }), /has 8 bytes/);
});

test("what is no encoder, no buffers or no buffer is refused by its name", async () => {
  const device = fakeDevice();
  const op = await attentionOn(device).prepare(SPEC);
  const good = buffersFor(op.plan);
  const refuses = (buffers, text, encoder = device.createCommandEncoder()) =>
    assert.throws(
      () => op.encode(encoder, buffers),
      (error) => error instanceof SpecError && text.test(error.message),
    );
  refuses(undefined, /^buffers=undefined: must be an object of q, k, v, o/);
  refuses([], /^buffers=\[\]: must be/);
  refuses(
    { ...good, lsee: good.lse },
    /^buffers\.lsee: there is no such key, it has q, k, v, o, lse/,
  );
  refuses({ ...good, q: Symbol("q") }, /^buffer q is Symbol\(q\): must be a GPUBuffer/);
  refuses({ ...good, q: 5n }, /^buffer q is 5n: must be a GPUBuffer/);
  refuses({ ...good, q: { buffer: good.q, offset: 0n } }, /^buffer q .* offset=0n, size=/);
  refuses({ ...good, q: { buffer: good.q, offset: Symbol("o") } }, /^buffer q .* offset=Symbol/);
  refuses({ ...good, q: { buffer: good.q, size: 4n } }, /^buffer q .* size=4n/);
  refuses(good, /^encode takes a GPUCommandEncoder \(got null\)/, null);
  refuses(
    good,
    /^encode takes a GPUCommandEncoder \(got Object\)/,
    device.createCommandEncoder().beginComputePass(),
  );
  assert.throws(
    () => op.steps(/** @type {any} */ (5n)),
    /^SpecError: maxWork=5n: must be a positive/,
  );
  op.encode(device.createCommandEncoder(), { ...good, dq: good.q }); // one set for several operations
  assert.equal(device.log.dispatches.length, op.dispatches);
});

test("a binding that begins between the steps of the device is refused with both numbers", async () => {
  const device = fakeDevice();
  const op = await attentionOn(device).prepare(SPEC);
  const encode = (offset) =>
    op.encode(device.createCommandEncoder(), {
      ...buffersFor(op.plan),
      k: { buffer: fakeBuffer(op.plan.buffers.k + 1024), offset },
    });
  encode(512);
  assert.throws(() => encode(32), SpecError);
  assert.throws(
    () => encode(32),
    /buffer k is bound from byte 32 on, .* multiples of 256 .*strides/,
  );
  device.limits.minStorageBufferOffsetAlignment = 32;
  encode(32);
});

test("packed q, k and v are one buffer, given once or three times", async () => {
  const device = fakeDevice();
  const op = await attentionOn(device).prepare({ ...SPEC, layout: "packed" });
  const { qkv, ...outputs } = buffersFor(op.plan);
  op.encode(device.createCommandEncoder(), { qkv, ...outputs });
  op.encode(device.createCommandEncoder(), { q: qkv, k: qkv, v: qkv, ...outputs });
  for (const { group } of device.log.dispatches) {
    assert.deepEqual(
      group.entries.slice(1, 4).map(({ resource }) => resource.buffer),
      [qkv, qkv, qkv],
    );
  }
});

test("destroy frees what the library allocated, one operation or all", async () => {
  const device = fakeDevice();
  const fa = attentionOn(device);
  const one = await fa.prepare(SPEC);
  one.steps(1e5);
  await fa.prepare(SPEC);
  assert.equal(device.log.buffers.size, 3);
  for (let n = 0; n < 9; n++) one.steps(1e5 + n);
  one.steps(Number.MAX_VALUE); // all at once, as encode
  assert.equal(device.log.buffers.size, 3, "the same cut has one uniform");
  one.destroy();
  assert.equal(device.log.buffers.size, 1);
  fa.destroy();
  assert.equal(device.log.buffers.size, 0);
});

test("destroy while prepare runs frees its operation, and prepare says so", async () => {
  const said = /this attention was destroyed, .*createAttention makes another/;
  for (let turns = 0; ; turns++) {
    const device = fakeDevice();
    const fa = attentionOn(device);
    let done = false;
    const preparing = fa.prepare(SPEC).then(
      (op) => op,
      (error) => error,
    );
    preparing.then(() => {
      done = true;
    });
    // At each of the moments at which prepare waits for something.
    for (let n = 0; n < turns && !done; n++) await new Promise(setImmediate);
    const early = !done;
    fa.destroy();
    const outcome = await preparing;
    assert.equal(device.log.buffers.size, 0, `after ${turns} turns`);
    assert.deepEqual(fa.allocated(), {});
    await assert.rejects(fa.prepare(SPEC), said);
    if (!early) break;
    assert.ok(outcome instanceof SpecError, `after ${turns} turns`);
    assert.match(outcome.message, said);
  }
});

test("destroy after the operation was made, before prepare has ended, is told as well", async () => {
  const device = fakeDevice();
  const fa = attentionOn(device);
  const { popErrorScope } = device;
  device.popErrorScope = async () => {
    if (device.log.buffers.size > 0) fa.destroy();
    return popErrorScope();
  };
  await assert.rejects(fa.prepare(SPEC), /this attention was destroyed/);
  assert.equal(device.log.buffers.size, 0);
});

test("what was destroyed says so, also by the steps that it made before", async () => {
  const device = fakeDevice();
  const op = await attentionOn(device).prepare(SPEC);
  const [step] = op.steps(1e5);
  op.destroy();
  const encoder = device.createCommandEncoder();
  const said = /this operation of \w+ was destroyed; prepare another/;
  assert.throws(() => op.encode(encoder, buffersFor(op.plan)), said);
  assert.throws(() => step.encode(encoder, buffersFor(op.plan)), said);
  assert.throws(() => op.steps(), said);
  op.destroy();
  assert.equal(device.log.buffers.size, 0);
});

test("a compiler's error names the file on disk, used files too", async () => {
  const text = "common/masking.wgsl";
  const device = fakeDevice();
  await attentionOn(device).prepare(SPEC);
  const lines = device.log.modules[0].split("\n");
  const wanted = SHADERS[text].split("\n").findIndex((line) => line.includes("fn key_end(")) + 1;
  const lineNum = lines.findIndex((line) => line.includes("fn key_end(")) + 1;
  const messages = [
    { type: "warning", message: "no matter", lineNum: 1, linePos: 1 },
    { type: "error", message: "unresolved value", lineNum, linePos: 4 },
  ];
  await assert.rejects(attentionOn(fakeDevice({ messages })).prepare(SPEC), (error) => {
    assert.ok(error instanceof CompileError);
    assert.deepEqual([error.file, error.line, error.column], [text, wanted, 4]);
    assert.match(error.message, /fn key_end\(/);
    assert.equal(error.text, "unresolved value");
    return true;
  });
});

test("an excerpt of the composed text, as Firefox adds one, is left out", () => {
  const firefox =
    "\nShader 'k.wgsl' parsing error: no definition in scope for identifier: `BRR`\n" +
    "   ┌─ wgsl:283:24\n   │\n283 │   let i0 = BRR;\n   │            ^^^ unknown identifier\n\n";
  assert.equal(plainMessage(firefox), "no definition in scope for identifier: `BRR`");
  assert.equal(plainMessage("unresolved value 'BRR'"), "unresolved value 'BRR'");
});

test("a failure without a message of the compiler is a compile error of the kernel's file", async () => {
  for (const fails of [
    { pipelineError: new Error("too much") },
    { pipelineError: runInNewContext('new Error("too much")') }, // of a device of another frame
    { scopeError: { message: "too much" } },
  ]) {
    const fa = attentionOn(fakeDevice(fails));
    await assert.rejects(fa.prepare(SPEC, { kernel: "fa2_forward" }), (error) => {
      assert.ok(error instanceof CompileError);
      assert.deepEqual([error.file, error.line, error.text], ["fa2_forward.wgsl", 0, "too much"]);
      return true;
    });
  }
});

test("a text that failed is compiled again when asked again", async () => {
  const device = fakeDevice({ pipelineError: new Error("out of memory") });
  const fa = attentionOn(device);
  await assert.rejects(fa.prepare(SPEC), CompileError);
  await assert.rejects(fa.prepare(SPEC), CompileError);
  assert.equal(device.log.modules.length, 2);
});

test("a shader file that cannot be fetched is named, with the line that uses it", async () => {
  const { "common/outer.wgsl": _, ...others } = SHADERS;
  const shaderBase = new URL("http://127.0.0.1:9/");
  const fa = createAttention(fakeDevice(), { shaders: others, shaderBase });
  await assert.rejects(fa.prepare(SPEC, { kernel: "fa2_forward" }), (error) => {
    assert.ok(error instanceof CompileError);
    assert.equal(error.file, "fa2_forward.wgsl");
    assert.match(error.message, /common\/outer\.wgsl cannot be read/);
    assert.match(error.message, /@use common\/outer\.wgsl/);
    return true;
  });
});
