// Buffers go round and round, and are counted.
import assert from "node:assert/strict";
import test from "node:test";
import { Unsupported } from "../../static/js/attention/index.js";
import { BufferPool, poolOf } from "../../static/js/ops/buffer-pool.js";
import { fakeDevice } from "./ops-device.js";

const STORAGE = 0x80;
const OTHER = 0x9;

test("what is given back is taken again by the same size and usage, and by no other", () => {
  const device = fakeDevice();
  const pool = new BufferPool(device);
  const { buffer } = pool.take(256, STORAGE);
  pool.give(buffer);
  assert.notEqual(pool.take(252, STORAGE).buffer, buffer);
  assert.notEqual(pool.take(256, OTHER).buffer, buffer);
  assert.equal(pool.take(256, STORAGE).buffer, buffer);
  assert.notEqual(pool.take(256, STORAGE).buffer, buffer);
  assert.equal(device.log.created, 4);
});

test("bytes and buffers are counted, taken ones and waiting ones", () => {
  const pool = new BufferPool(fakeDevice());
  const [one, two] = [pool.take(100, STORAGE), pool.take(60, STORAGE)];
  pool.give(one.buffer);
  assert.deepEqual(pool.memory, {
    liveBytes: 60,
    liveBuffers: 1,
    pooledBytes: 100,
    pooledBuffers: 1,
  });
  pool.give(one.buffer); // a second time changes nothing
  pool.give(two.buffer);
  assert.deepEqual(pool.memory, {
    liveBytes: 0,
    liveBuffers: 0,
    pooledBytes: 160,
    pooledBuffers: 2,
  });
  pool.drain();
  assert.equal(pool.memory.pooledBytes, 0);
  assert.equal(pool.device.log.buffers.size, 0);
  pool.give(two.buffer); // freed: it must not come back
  assert.equal(pool.memory.pooledBuffers, 0);
});

test("beyond the limit the longest waiting are freed", () => {
  const pool = new BufferPool(fakeDevice(), 250);
  const buffers = [100, 104, 108, 300].map((size) => pool.take(size, STORAGE).buffer);
  for (const buffer of buffers.slice(0, 3)) pool.give(buffer);
  assert.deepEqual(
    buffers.map(({ destroyed }) => destroyed),
    [true, false, false, false],
  );
  assert.equal(pool.memory.pooledBytes, 212);
  pool.give(buffers[3]);
  assert.equal(pool.memory.pooledBytes, 0);
  assert.ok(buffers.every(({ destroyed }) => destroyed));
});

test("more than a buffer may hold is refused with both numbers, before anything is made", () => {
  const device = fakeDevice();
  const pool = new BufferPool(device);
  const most = device.limits.maxBufferSize;
  assert.throws(() => pool.take(most + 4, STORAGE), Unsupported);
  assert.throws(() => pool.take(most + 4, STORAGE), new RegExp(`${most + 4}.*${most}`));
  assert.equal(device.log.created, 0);
});

test("a buffer that the device had no memory for says so and is never taken again", async () => {
  const fails = { scope: { "out-of-memory": "no pages" } };
  const pool = new BufferPool(fakeDevice(fails));
  const waiting = pool.take(8, STORAGE).buffer;
  fails.scope = { "out-of-memory": "no pages" };
  const { buffer, sound } = pool.take(64, STORAGE);
  pool.give(waiting);
  await assert.rejects(sound, /64 bytes: this device is out of memory \(no pages\)/);
  assert.equal(pool.memory.pooledBytes, 0, "what waits must be freed when memory is short");
  pool.give(buffer);
  assert.equal(buffer.destroyed, true);
  const again = pool.take(64, STORAGE);
  await again.sound;
  assert.notEqual(again.buffer, buffer);
});

test("a buffer that comes back before the device has answered is told of by every lease", async () => {
  const pool = new BufferPool(fakeDevice({ scope: { "out-of-memory": "no pages" } }));
  const first = pool.take(64, STORAGE);
  pool.give(first.buffer);
  const second = pool.take(64, STORAGE);
  assert.equal(second.buffer, first.buffer);
  await assert.rejects(first.sound, Unsupported);
  await assert.rejects(second.sound, /64 bytes: this device is out of memory \(no pages\)/);
  pool.give(second.buffer);
  assert.equal(pool.memory.pooledBuffers, 0);
});

test("a device has one pool", () => {
  const device = fakeDevice();
  assert.equal(poolOf(device), poolOf(device));
  assert.notEqual(poolOf(device), poolOf(fakeDevice()));
});
