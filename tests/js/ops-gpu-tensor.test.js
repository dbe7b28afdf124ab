// Tensors on a device without a GPU: up, down, and away once.
import assert from "node:assert/strict";
import test from "node:test";
import { AttentionError, SpecError, Unsupported } from "../../static/js/attention/index.js";
import { poolOf } from "../../static/js/ops/buffer-pool.js";
import { GpuTensor } from "../../static/js/ops.js";
import { fakeDevice, gate } from "./ops-device.js";

const DATA = Float32Array.of(1, -2, 3.5, 4, 5, 6);

test("what was uploaded is downloaded, any number of times", async () => {
  const device = fakeDevice();
  const data = DATA.slice();
  const tensor = GpuTensor.fromData(device, data, [2, 3]);
  data.fill(0); // the upload has its own copy
  assert.deepEqual([tensor.shape, tensor.length, tensor.bytes], [[2, 3], 6, 24]);
  assert.deepEqual(await tensor.download(), DATA);
  const [one, two] = await Promise.all([tensor.download(), tensor.download()]);
  assert.deepEqual([one, two], [DATA, DATA]);
  assert.notEqual(one, two);
  assert.deepEqual(GpuTensor.fromData(device, DATA).shape, [6]);
});

test("a part of a larger array is uploaded as that part", async () => {
  const tensor = GpuTensor.fromData(fakeDevice(), DATA.subarray(2, 4));
  assert.deepEqual(await tensor.download(), Float32Array.of(3.5, 4));
});

test("what is no float32 data or has another shape is refused by name", () => {
  const device = fakeDevice();
  const made = (data, shape) => () => GpuTensor.fromData(device, data, shape);
  assert.throws(made([1, 2]), /data is Array; it must be a Float32Array/);
  assert.throws(made(new Float64Array(2)), /data is Float64Array/);
  assert.throws(made(undefined), /data is undefined/);
  assert.throws(made(DATA, [2, 2]), /shape \[2, 2\] has 4 elements, data has 6/);
  assert.throws(made(new Float32Array(0)), SpecError);
  assert.throws(made(DATA, [-2, -3]), SpecError);
  const { maxBufferSize } = device.limits;
  device.limits.maxBufferSize = 20;
  assert.throws(made(DATA), Unsupported);
  device.limits.maxBufferSize = maxBufferSize;
  assert.equal(device.log.created, 0);
});

test("a destroyed tensor can neither be destroyed again nor used", async () => {
  const tensor = GpuTensor.fromData(fakeDevice(), DATA, [2, 3]);
  assert.equal(tensor.destroyed, false);
  tensor.destroy();
  assert.equal(tensor.destroyed, true);
  assert.throws(() => tensor.destroy(), /tensor \[2, 3\] was destroyed/);
  assert.throws(() => tensor.hold(), SpecError);
  await assert.rejects(tensor.download(), SpecError);
});

test("memory returns to the pool at once, or after the downloads that are under way", async () => {
  const device = fakeDevice();
  const { memory: none } = poolOf(device);
  assert.equal(none.liveBytes, 0);
  const first = GpuTensor.fromData(device, DATA);
  const { buffer, release } = first.hold();
  release();
  release(); // counts once
  const opening = gate();
  device.log.mapping = opening.promise;
  const download = first.download();
  first.destroy();
  assert.equal(poolOf(device).memory.liveBuffers, 1 + 0);
  const other = GpuTensor.fromData(device, DATA);
  const hold = other.hold();
  assert.notEqual(hold.buffer, buffer, "a buffer that is being read was handed out");
  hold.release();
  opening.resolve();
  assert.deepEqual(await download, DATA);
  other.destroy();
  const third = GpuTensor.fromData(device, DATA);
  const { created } = device.log;
  await third.download();
  third.destroy();
  assert.equal(device.log.created, created, "the staging buffer must be recycled as well");
  assert.equal(poolOf(device).memory.liveBytes, 0);
});

test("a failed download gives everything back and frees its staging buffer", async () => {
  const device = fakeDevice();
  const tensor = GpuTensor.fromData(device, DATA);
  device.log.mapping = Promise.reject(new Error("device lost"));
  await assert.rejects(tensor.download(), /device lost/);
  tensor.destroy();
  const { liveBytes, pooledBuffers } = poolOf(device).memory;
  assert.deepEqual([liveBytes, pooledBuffers], [0, 1]);
});

test("on a lost device a download says so, in the library's own words", async () => {
  const device = fakeDevice();
  const tensor = GpuTensor.fromData(device, DATA);
  const lost = (/** @type {Error} */ error) => {
    device.log.mapping = Promise.reject(error);
    return tensor.download().catch((told) => told);
  };
  const silent = await lost(new DOMException("", "AbortError")); // as browsers say it
  assert.ok(silent instanceof AttentionError, String(silent));
  assert.match(silent.message, /cannot be mapped \(AbortError\), as when the device was lost/);
  const { message } = await lost(new DOMException("Device is lost.", "OperationError"));
  assert.match(message, /cannot be mapped \(Device is lost\.\)/);
});

test("an upload that found no memory is told by the download, as that", async () => {
  const fails = { scope: { "out-of-memory": "no pages" } };
  const tensor = GpuTensor.fromData(fakeDevice(fails), DATA);
  await assert.rejects(tensor.download(), /24 bytes: this device is out of memory/);
});
