import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTime, speedCurves, takeLength, ticksTo } from "../../static/js/speed-curves.js";

const peaks = { f32_tflops: 65, copy_gbps: 3900, f16_matrix_tflops: 540 };
const timed = (/** @type {string} */ id, /** @type {number} */ tflops, more = {}) =>
  /** @type {any} */ ({ case: id, kernel: "fa2_forward", tflops, peak: "f32", peaks, ...more });

test("cases that differ in T alone are one series, by T, the last measurement of each", () => {
  const { series } = speedCurves([
    timed("forward:T=1024,H=16,D=64", 20),
    timed("forward:T=512,H=16,D=64", 10),
    timed("forward:T=1024,H=16,D=64", 22),
    timed("backward:T=512,H=16,D=64", 9, { kernel: "fa2_backward" }),
    timed("forward:T=512,H=16,D=64", 8, { kernel: "fa2_forward_wide" }),
  ]);
  assert.deepEqual(
    series.map(({ points }) => points),
    [
      [
        { T: 512, tflops: 10 },
        { T: 1024, tflops: 22 },
      ],
      [{ T: 512, tflops: 9 }],
      [{ T: 512, tflops: 8 }],
    ],
  );
  assert.deepEqual(
    series.map(({ backward }) => backward),
    [false, true, false],
  );
  assert.equal(series[0].name, "forward:H=16,D=64 fa2_forward");
});

test("what was not timed is no point", () => {
  const {
    series,
    peaks: found,
    summary,
  } = speedCurves([timed("forward:T=8,D=4", /** @type {any} */ (null))]);
  assert.deepEqual([series, found], [[], []]);
  assert.match(summary, /nothing timed yet/);
});

test("only the peaks that something is held against are drawn, and the axis reaches them", () => {
  const f32 = speedCurves([timed("forward:T=512,D=64", 20)]);
  assert.deepEqual(f32.peaks, [{ name: "f32 peak", tflops: 65 }]);
  assert.ok(f32.most >= 65);
  const both = speedCurves([
    timed("forward:T=512,D=64", 20),
    timed("forward:T=512,D=64,dtype=f16", 150, { peak: "f16_matrix" }),
  ]);
  assert.deepEqual(
    both.peaks.map(({ name }) => name),
    ["f32 peak", "f16 matrix peak"],
  );
  assert.ok(both.most >= 540);
});

test("lengths are powers of two from the first to the last", () => {
  const { lengths } = speedCurves([timed("forward:T=500,D=4", 1), timed("forward:T=4096,D=4", 1)]);
  assert.deepEqual(lengths, [256, 512, 1024, 2048, 4096]);
});

test("a length is taken out of a case's id, the longer one where there are two", () => {
  assert.deepEqual(takeLength("forward:T=512,H=16,D=64"), {
    length: 512,
    others: "forward:H=16,D=64",
  });
  assert.deepEqual(takeLength("forward:Tq=1,Tk=4096,D=64"), {
    length: 4096,
    others: "forward:Tq=1,D=64",
  });
});

test("ticks are round and reach the highest", () => {
  assert.deepEqual(ticksTo(65), [0, 20, 40, 60, 80]);
  assert.deepEqual(ticksTo(0.0305), [0, 0.01, 0.02, 0.03, 0.04]);
  assert.deepEqual(ticksTo(0), [0, 1]);
  assert.ok(ticksTo(100).at(-1) === 100);
});

test("times are written with three digits and a unit", () => {
  const written = [812.4, 23456, 1.5e7, 2.25e9, null].map(formatTime);
  assert.deepEqual(written, ["812 ns", "23.5 µs", "15 ms", "2.25 s", "–"]);
});
