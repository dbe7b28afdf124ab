import assert from "node:assert/strict";
import { test } from "node:test";
import { formatFlops } from "../../static/js/format.js";
import { curvesOf, formatPercent, stepsPerSecond } from "../../static/js/train-curves.js";
import { ticks } from "../../static/js/ui/loss-chart.js";

test("curves are compared where both are known, and the worst is looked for after step ten", () => {
  const twin = Array(20).fill(4);
  const losses = [8, ...Array(11).fill(4), 4.2, 4.1];
  const { apart, worst, compared, page, most, summary } = curvesOf({
    steps: 50,
    losses,
    twin,
    gate: "drift",
  });
  assert.equal(apart.length, 14);
  assert.deepEqual(apart[0], { step: 1, value: 1 });
  assert.equal(worst?.step, 13);
  assert.ok(Math.abs((worst?.value ?? 0) - 0.05) < 1e-9);
  assert.deepEqual([compared, page.length, most], [true, 14, 8]);
  assert.match(summary, /4\.1000 at step 14 of 50.*5 % at step 13/);
});

test("a loss that is no number is no scale and no worst", () => {
  const { most, worst } = curvesOf({
    steps: 20,
    losses: [...Array(11).fill(2), Number.NaN, Infinity],
    twin: Array(20).fill(2),
    gate: "drift",
  });
  assert.deepEqual([most, worst?.value], [2, 0]);
  assert.equal(curvesOf({ steps: 1, losses: [], twin: [], gate: "overfit" }).goal, 0.5);
});

test("the speed leaves the first step out, unless it is the only one", () => {
  assert.equal(stepsPerSecond([]), null);
  assert.equal(stepsPerSecond([500]), 2);
  assert.equal(stepsPerSecond([9000, 100, 100]), 10);
});

test("an axis of steps has a handful of marks and both ends where it can", () => {
  assert.deepEqual(ticks(1), [1]);
  assert.deepEqual(ticks(3), [1, 2, 3]);
  assert.deepEqual(ticks(50), [1, 10, 20, 30, 40, 50]);
  assert.deepEqual(ticks(150), [1, 25, 50, 75, 100, 125, 150]);
  for (let steps = 1; steps < 12_000; steps += 37) {
    const marks = ticks(steps);
    assert.ok(marks.length <= 8, `${steps}: ${marks}`);
    assert.ok(marks.every((mark) => Number.isInteger(mark) && mark <= steps));
  }
});

test("small numbers and large ones are written shortly", () => {
  assert.deepEqual([0, 1.9e-7, 0.0123456, 0.06].map(formatPercent), [
    "0 %",
    "1.9e-5 %",
    "1.23 %",
    "6 %",
  ]);
  assert.deepEqual([2.19e8, 1.726e11, 1.507e12].map(formatFlops), [
    "219 MFLOP",
    "173 GFLOP",
    "1.51 TFLOP",
  ]);
});
