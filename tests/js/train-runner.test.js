import assert from "node:assert/strict";
import { test } from "node:test";
import { flopsPerStep, PRESETS } from "../../static/js/train/config.js";
import { smallOf } from "../../static/js/train-runner.js";

test("the speed is measured with one block of the same width, and with little work", () => {
  for (const config of Object.values(PRESETS)) {
    const small = smallOf(config);
    const { C, H, D } = config;
    assert.deepEqual([small.layers, small.C, small.H, small.D], [1, C, H, D]);
    assert.ok(small.T <= 32 && small.B <= config.B);
    assert.ok(flopsPerStep(small) <= 1e9 || small.B === 1);
    assert.ok(flopsPerStep(small) < flopsPerStep(config));
  }
  assert.equal(smallOf({ ...PRESETS.tiny, T: 8 }).T, 8);
  assert.equal(smallOf(PRESETS.medium).B, 16);
  assert.equal(smallOf(PRESETS.behemoth).B, 1);
});
