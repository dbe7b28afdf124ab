// What an adapter can do at most: measured awake, in the same units on every adapter.
import assert from "node:assert/strict";
import test from "node:test";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { measurePeaks } from "../../static/js/bench/peaks.js";

/** Floating-point operations of one dispatch of the f32 kernel on a GPU. */
const FMA_WORK = 8192 * 256 * 256 * 128;

/** @param {object} info of the adapter @param {number[]} fmaNs a dispatch's, first and later */
async function measured(info, ...fmaNs) {
  const asked = /** @type {string[]} */ ([]);
  const progress = /** @type {number[][]} */ ([]);
  const device = {
    limits: DEFAULT_LIMITS,
    features: new Set(),
    adapterInfo: info,
    createBuffer: () => ({ destroy() {} }),
  };
  const kernel = { setRounds() {}, bind() {}, encode() {}, destroy() {} };
  const watch = {
    race: async (/** @type {string} */ what, /** @type {Promise<any>} */ compiling) => {
      compiling.catch(() => {}); // there is no browser to fetch the text from
      asked.push(what.replace("compiling ", ""));
      return kernel;
    },
  };
  const sampler = {
    calibrate: async () => ({ calls: 1, expectedNs: 1e6 }),
    take: async () => {
      const again = asked.filter((name) => name === "fma").length - 1;
      return { ns: [asked[asked.length - 1] === "fma" ? fmaNs[again] : 1e6], chain: [1] };
    },
  };
  const peaks = await measurePeaks(
    /** @type {any} */ (device),
    /** @type {any} */ (sampler),
    /** @type {any} */ (watch),
    (done, total) => progress.push([done, total]),
  );
  return { peaks, asked, progress };
}

test("the f32 peak of a GPU that slept is that of its second measurement", async () => {
  const { peaks, asked, progress } = await measured({ vendor: "nvidia" }, 2e6, 1e6);
  assert.deepEqual(asked, ["fma", "copy", "fma"]);
  assert.equal(peaks.f32_tflops, FMA_WORK / 1e6 / 1000);
  assert.deepEqual(progress[progress.length - 1], [3, 3]);
  assert.ok(progress.every(([done], n) => n === 0 || done >= progress[n - 1][0]));
});

test("a GPU that was faster at first keeps that peak", async () => {
  const { peaks } = await measured({ vendor: "nvidia" }, 1e6, 3e6);
  assert.equal(peaks.f32_tflops, FMA_WORK / 1e6 / 1000);
});

test("a software adapter, which never sleeps, is measured once", async () => {
  const { asked, peaks } = await measured({ vendor: "google", architecture: "swiftshader" }, 1e6);
  assert.deepEqual(asked, ["fma", "copy"]);
  assert.equal(peaks.f16_matrix_tflops, null);
});
