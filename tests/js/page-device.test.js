// @ts-check
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { DeviceKeeper } from "../../static/js/device.js";

/** @type {string[][]} features of each device asked for */
let asked = [];

/** @param {string[]} features of the adapter */
function offer(features) {
  asked = [];
  const adapter = {
    features: new Set(features),
    limits: { maxBufferSize: 4096 },
    info: { vendor: "v", architecture: "", device: "", description: "" },
    requestDevice: async (/** @type {{requiredFeatures: string[]}} */ { requiredFeatures }) => {
      asked.push(requiredFeatures);
      return {
        features: new Set(requiredFeatures),
        limits: adapter.limits,
        addEventListener: () => {},
        lost: new Promise(() => {}),
        destroy: () => {},
      };
    },
  };
  const gpu = { requestAdapter: async () => adapter };
  Object.defineProperty(globalThis, "navigator", { value: { gpu }, configurable: true });
  Object.defineProperty(globalThis, "isSecureContext", { value: true, configurable: true });
}

afterEach(() => {
  Reflect.deleteProperty(globalThis, "isSecureContext");
});

test("a device has the features that kernels use and the timer, as far as they are offered", async () => {
  offer(["shader-f16", "timestamp-query", "depth-clip-control"]);
  await new DeviceKeeper().acquire({});
  assert.deepEqual(asked, [["shader-f16", "timestamp-query"]]);
});

test("what kernels must do without is in no device and in no plan, and is told", async () => {
  offer(["shader-f16", "subgroups", "timestamp-query"]);
  const devices = new DeviceKeeper(["shader-f16", "texture-compression-bc"]);
  const facts = await devices.look();
  assert.deepEqual(facts.features, ["subgroups", "timestamp-query"]);
  assert.deepEqual(facts.withheld, ["shader-f16"]);
  assert.deepEqual([...(devices.described.features ?? [])], ["subgroups", "timestamp-query"]);
  const held = await devices.acquire({ maxBufferSize: 16 });
  assert.deepEqual(asked, [["subgroups", "timestamp-query"]]);
  assert.deepEqual(held.adapter.withheld, ["shader-f16"]);
});
