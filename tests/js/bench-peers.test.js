// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { Devices, numbers, Refusal } from "../../static/js/bench/peers/subject.js";

/** A browser whose adapter has some features, and whose devices remember what they were asked for. */
function browser() {
  const made = /** @type {any[]} */ ([]);
  const adapter = () => ({
    info: { subgroupMinSize: 4 },
    features: new Set(["subgroups", "subgroup-size-control", "timestamp-query"]),
    requestDevice: async (/** @type {any} */ descriptor) => {
      /** @type {(info: {message: string}) => void} */
      let lose = () => {};
      /** @type {(event: any) => void} */
      let fail = () => {};
      const device = {
        descriptor,
        destroyed: false,
        lost: new Promise((resolve) => {
          lose = resolve;
        }),
        addEventListener: (/** @type {string} */ _, /** @type {any} */ listener) => {
          fail = listener;
        },
        destroy() {
          device.destroyed = true;
          lose({ message: "destroyed" });
        },
        lose: (/** @type {string} */ message) => lose({ message }),
        fail: (/** @type {string} */ message) => fail({ error: { message } }),
      };
      made.push(device);
      return device;
    },
  });
  class Gpu {
    async requestAdapter() {
      return adapter();
    }
  }
  const gpu = new Gpu();
  Object.defineProperty(globalThis, "navigator", { value: { gpu }, configurable: true });
  return { gpu: /** @type {any} */ (gpu), made };
}

test("features are hidden from a library, and shown again afterwards", async () => {
  const { gpu } = browser();
  const devices = new Devices();
  const whole = await gpu.requestAdapter();
  assert.ok(whole.features.has("subgroups"), "nothing is hidden unless it is asked for");
  assert.ok(!devices.hiding);
  devices.hides = (name) => name.includes("subgroup");
  const adapter = await gpu.requestAdapter();
  assert.deepEqual([...adapter.features], ["timestamp-query"]);
  assert.ok(devices.hiding);
  devices.close();
  assert.ok((await gpu.requestAdapter()).features.has("subgroups"));
  assert.ok(!Object.hasOwn(gpu, "requestAdapter"));
});

test("a library's devices are known, with their errors, and destroyed in the end", async () => {
  const { gpu, made } = browser();
  const devices = new Devices();
  const device = await (await gpu.requestAdapter()).requestDevice({ label: "theirs" });
  assert.deepEqual(devices.all, [device]);
  assert.equal(device.descriptor.label, "theirs");
  made[0].fail("out of bounds");
  assert.deepEqual(devices.errors, ["out of bounds"]);
  devices.close();
  assert.ok(device.destroyed);
});

test("the loss of a library's device ends a wait, but not its own end", async () => {
  const { gpu, made } = browser();
  const devices = new Devices();
  await (await gpu.requestAdapter()).requestDevice();
  made[0].lose("the driver crashed");
  await assert.rejects(devices.lost, /its GPU device was lost: the driver crashed/);

  const others = new Devices();
  await (await gpu.requestAdapter()).requestDevice();
  others.close();
  const first = await Promise.race([others.lost, new Promise((done) => setTimeout(done, 5, "on"))]);
  assert.equal(first, "on");
});

test("f16 bits become numbers where the browser has them, and a refusal where not", () => {
  const f32 = new Float32Array([1, 2]);
  assert.equal(numbers(f32), f32);
  const global = /** @type {any} */ (globalThis);
  const before = global.Float16Array;
  global.Float16Array = undefined;
  try {
    assert.throws(() => numbers(new Uint16Array(2)), Refusal);
  } finally {
    global.Float16Array = before;
  }
});
