// The operation of a kernel that is not ours, on a device that only remembers what it was told.
import assert from "node:assert/strict";
import test from "node:test";
import { SpecError } from "../../static/js/attention/index.js";
import { createOwnOperation } from "../../static/js/own/operation.js";
import { fakeDevice } from "./attention-device.js";

test("what was destroyed says so", () => {
  const device = fakeDevice();
  const plan = { name: "mine", passes: [], tile: null, scratch: {}, tensors: {}, work: 8 };
  const operation = createOwnOperation(device, plan, [], "");
  operation.encode(device.createCommandEncoder(), {});
  operation.destroy();
  for (const act of [
    () => operation.encode(device.createCommandEncoder(), {}),
    () => operation.steps(),
  ]) {
    assert.throws(
      act,
      (error) => error instanceof SpecError && /mine was destroyed/.test(error.message),
    );
  }
});

test("a kernel that asks for a length gets its elements, in whole elements, and no guard", () => {
  const device = fakeDevice();
  let size = 0;
  const pass = {
    setPipeline: () => {},
    setBindGroup: (/** @type {number} */ _, /** @type {any} */ group) => {
      size = group.entries[0].resource.size;
    },
    dispatchWorkgroups: () => {},
    end: () => {},
  };
  const sizeOf = (/** @type {number} */ measured, /** @type {number} */ bytes) => {
    const variable = { name: "out", group: 0, binding: 0, access: "read_write", measured };
    const planned = {
      bound: [{ variable, kind: "tensor", name: "o" }],
      grid: [1, 1, 1],
      uniforms: {},
    };
    const plan = {
      name: "mine",
      passes: [planned],
      tile: null,
      scratch: {},
      tensors: { o: bytes },
    };
    const compiled = [{ pipeline: {}, layouts: [{}] }];
    const operation = createOwnOperation(device, { ...plan, work: 8 }, compiled, "");
    const o = {
      buffer: device.createBuffer({ size: 600, usage: 0 }),
      offset: 256,
      size: 256 + bytes,
    };
    operation.encode({ beginComputePass: () => pass }, { o });
    return size;
  };
  assert.equal(sizeOf(0, 20), 276);
  assert.equal(sizeOf(4, 20), 20);
  assert.equal(sizeOf(16, 20), 32); // array<vec4<f32>>: less than its elements would cut one off
});

test("scratch holds NaN before the first pass and large numbers of both signs before the second", () => {
  const device = fakeDevice();
  /** @type {Float32Array} */
  let last = new Float32Array();
  device.queue.writeBuffer = (
    /** @type {any} */ _,
    /** @type {any} */ __,
    /** @type {any} */ words,
  ) => {
    last = new Float32Array(words.buffer);
  };
  const scratch = { rows: { bytes: 64, zero: false } };
  const plan = { name: "mine", passes: [], tile: null, scratch, tensors: {}, work: 8 };
  const operation = createOwnOperation(device, plan, [], "");
  operation.poison(0, 0x7fc17e05);
  assert.ok(last.length === 16 && last.every(Number.isNaN));
  operation.poison(1, 0xffc1fe05);
  assert.equal(last.filter((value) => value > 1e35).length, 8);
  assert.equal(last.filter((value) => value < -1e35).length, 8);
});
