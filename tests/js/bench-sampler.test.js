import assert from "node:assert/strict";
import { test } from "node:test";
import { checkClock } from "../../static/js/bench/clock.js";
import { benchParams } from "../../static/js/bench/params.js";
import { samplesOf } from "../../static/js/bench/sampler.js";
import { wallPairs } from "../../static/js/bench/wall.js";

const stamps = (/** @type {number[]} */ ...ns) => BigUint64Array.from(ns, (n) => BigInt(1000 + n));

test("a sample is the chain, then so many calls", () => {
  const two = stamps(0, 30, 31, 231, 240, 270, 270, 510);
  assert.deepEqual(samplesOf(two, 2, 4), { ns: [50, 60], chain: [30, 30] });
});

test("the parts of a call are added up without what lies between them", () => {
  assert.deepEqual(samplesOf(stamps(0, 10, 100, 150, 900, 925), 3, 1).ns, [75]);
});

test("nothing begins before what was before it has ended, whenever it was stamped", () => {
  // All begins are stamped at once, as by a GPU that reads commands ahead.
  const early = stamps(0, 30, 0, 230, 0, 260, 0, 460);
  assert.deepEqual(samplesOf(early, 2, 1), { ns: [200, 200], chain: [30, 30] });
});

test("stamps that run backwards never make a negative time", () => {
  assert.deepEqual(samplesOf(stamps(50, 80, 90, 40), 2, 1), { ns: [0], chain: [30] });
});

test("a clock is steady when it is near its best and does not move", () => {
  const steady = Array(30).fill(1000);
  assert.equal(checkClock(steady, 990).stable, true);
  assert.equal(checkClock(steady, 1000).best_ns, 1000);
  assert.equal(checkClock(steady, 500).stable, false, "an idle clock is steady too");
  const restless = steady.map((ns, n) => ns * (n % 2 ? 0.97 : 1.03));
  assert.equal(checkClock(restless, 1000).stable, false);
  const outlier = [...steady.slice(1), 9000];
  assert.equal(checkClock(outlier, 1000).stable, true, "one sample is what percentiles are for");
});

test("the uniform holds rounds, factor, addend, and a value that no result has", () => {
  const view = new DataView(benchParams(7));
  assert.equal(view.getUint32(0, true), 7);
  assert.deepEqual(
    [4, 8, 12].map((at) => view.getFloat32(at, true)),
    [0.5, 1, -1],
  );
});

/** Subjects on a clock that only their work moves. */
function fakes(/** @type {number} */ drainMs, /** @type {number[]} */ ...callMs) {
  let now = 0;
  const subjects = callMs.map((ms) => ({
    queued: 0,
    call() {
      this.queued++;
    },
    async drain() {
      now += drainMs + ms * this.queued;
      this.queued = 0;
    },
  }));
  return { subjects, now: () => now };
}

const watch = { race: (/** @type {string} */ _, /** @type {Promise<any>} */ promise) => promise };

test("calls are queued until a sample is long", async () => {
  const { subjects, now } = fakes(1, 0.5, 4);
  const { ns, calls, drainNs, resolved } = await wallPairs(subjects, {
    watch,
    samples: 4,
    sampleMs: 40,
    now,
  });
  assert.equal(drainNs, 1e6);
  assert.ok(calls[0] * 0.5 >= 39 && calls[1] * 4 >= 39, String(calls));
  assert.equal(ns[0].length, 4);
  for (const one of ns[0]) assert.ok(one >= 0.5e6 && one < 0.52e6, String(one));
  for (const one of ns[1]) assert.ok(one >= 4e6 && one < 4.2e6, String(one));
  assert.ok(resolved);
});

test("each round begins with another subject", async () => {
  const { subjects, now } = fakes(0, 50, 50, 50);
  /** @type {number[]} */
  const turns = [];
  for (const [i, one] of subjects.entries()) {
    const call = one.call.bind(one);
    one.call = () => {
      turns.push(i);
      call();
    };
  }
  await wallPairs(subjects, { watch, samples: 3, sampleMs: 50, now });
  assert.deepEqual(turns.slice(-9), [0, 1, 2, 1, 2, 0, 2, 0, 1]);
});

test("waits that take a tenth of a second leave short samples unresolved", async () => {
  const { subjects, now } = fakes(100, 1);
  const { resolved, drainNs } = await wallPairs(subjects, { watch, samples: 2, sampleMs: 20, now });
  assert.equal(drainNs, 1e8);
  assert.equal(resolved, false);
});
