import assert from "node:assert/strict";
import { test } from "node:test";
import {
  canTime,
  GpuTimer,
  quantile,
  resolutionOf,
  spansOf,
  timeDispatches,
} from "../../static/js/gpu-timer.js";

test("stamps become spans from the first stamp on, beyond what a number holds", () => {
  const start = 2n ** 62n + 1n;
  const stamps = BigUint64Array.of(start, start + 7n, start + 10n, start + 1_000_000_000_001n);
  assert.deepEqual(spansOf(stamps), [
    { begin: 0, end: 7 },
    { begin: 10, end: 1_000_000_000_001 },
  ]);
});

test("the resolution is what divides every stamp", () => {
  assert.equal(resolutionOf([500_000n, 700_000n, 1_200_000n]), 100_000);
  assert.equal(resolutionOf([2n ** 60n, 2n ** 60n + 65_536n]), 65_536);
  assert.equal(resolutionOf([900n, 600n, 100n]), 100); // they may run backwards
  assert.equal(resolutionOf([5n, 32n, 64n]), 1);
  assert.equal(resolutionOf([0n, 0n]), 0);
  assert.equal(resolutionOf([]), 0);
});

test("a quantile lies between the values that it falls between", () => {
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
  assert.equal(quantile([10, 0, 20, 30, 40, 50], 0.2), 10);
  assert.equal(quantile([10, 0, 20, 30, 40, 50], 0.8), 40);
  assert.equal(quantile([7], 0.8), 7);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

/** A device on which every pass takes as long as its label says. */
function fakeDevice() {
  let now = 1_000n;
  const count = { destroyed: 0 };
  const ended = () => ({ destroy: () => count.destroyed++ });
  const queries = /** @type {Map<number, bigint>} */ (new Map());
  const device = {
    count,
    features: new Set(["timestamp-query"]),
    createQuerySet: ended,
    createBuffer: () => ({
      ...ended(),
      mapAsync: async () => {},
      unmap: () => {},
      getMappedRange: (_, size) =>
        BigUint64Array.from({ length: size / 8 }, (_, n) => queries.get(n) ?? 0n).buffer,
    }),
    createCommandEncoder: () => ({
      beginComputePass: ({ label, timestampWrites: stamps }) => {
        now += 3n;
        if (stamps.beginningOfPassWriteIndex !== undefined) {
          queries.set(stamps.beginningOfPassWriteIndex, now);
        }
        now += BigInt(label);
        if (stamps.endOfPassWriteIndex !== undefined) queries.set(stamps.endOfPassWriteIndex, now);
      },
      resolveQuerySet: () => {},
      copyBufferToBuffer: () => {},
      finish: () => ({}),
    }),
    queue: { submit: () => {} },
  };
  return /** @type {any} */ (device);
}

test("each of several dispatches gets its own spans, and nothing stays behind", async () => {
  const device = fakeDevice();
  const pass = (/** @type {number} */ ns) => (encoder, timestampWrites) =>
    encoder.beginComputePass({ label: String(ns), timestampWrites });
  const spans = await timeDispatches(device, [pass(50), pass(70)], { samples: 4 });
  const lengths = spans.map((of) => of.map(({ begin, end }) => end - begin));
  assert.deepEqual(lengths, [
    [50, 50, 50, 50],
    [70, 70, 70, 70],
  ]);
  assert.equal(device.count.destroyed, 3);
});

test("several passes share a span: the first takes its begin, the last its end", () => {
  const timer = new GpuTimer(fakeDevice(), 2);
  const { querySet, ...first } = timer.span(1, { end: false });
  assert.deepEqual(first, { beginningOfPassWriteIndex: 2 });
  assert.equal(timer.span(1, { begin: false }).endOfPassWriteIndex, 3);
  assert.ok(!("beginningOfPassWriteIndex" in timer.span(1, { begin: false })));
  assert.ok(querySet);
  assert.throws(() => new GpuTimer(fakeDevice(), 2049), /2049 spans: a timer holds 1 to 2048/);
});

test("a device without the feature is known before anything is created", () => {
  assert.equal(canTime({ features: new Set(["subgroups"]) }), false);
  assert.equal(canTime(fakeDevice()), true);
});
