// The peaks that a benchmark is held against are of its own adapter, and of the last minutes.
import assert from "node:assert/strict";
import test from "node:test";
import { KeptPeaks } from "../../static/js/bench/kept-peaks.js";

test("peaks are measured once for a series, and anew for another adapter and after minutes", async () => {
  let now = 1000;
  let measured = 0;
  const kept = new KeptPeaks(() => now);
  const asked = async (/** @type {string} */ adapter) =>
    (
      await kept.of(adapter, async () => {
        now += 3000;
        return { f32_tflops: ++measured, copy_gbps: 1, f16_matrix_tflops: null };
      })
    ).f32_tflops;
  assert.deepEqual([await asked("a"), await asked("a")], [1, 1]);
  now += 299_999;
  assert.equal(await asked("a"), 1);
  now += 1;
  assert.equal(await asked("a"), 2);
  assert.deepEqual([await asked("b"), await asked("a")], [3, 4]);
});

test("what could not be measured is measured by the next", async () => {
  const kept = new KeptPeaks(() => 0);
  const lost = async () => {
    throw new Error("the device is lost");
  };
  await assert.rejects(kept.of("a", lost), /lost/);
  const peaks = { f32_tflops: 1, copy_gbps: 1, f16_matrix_tflops: null };
  assert.equal(await kept.of("a", async () => peaks), peaks);
});
