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
