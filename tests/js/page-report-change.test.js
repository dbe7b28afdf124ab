import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf } from "../../static/js/report-change.js";

const report = (status, worst, bad, gpu_ns = null) => ({
  ...{ status, gpu_ns, outputs: { o: { worst_ratio: worst, bad } } },
});
const told = (before, now) =>
  changeOf(before, now).map(({ name, before, now, change, way }) =>
    [name, before, now, change, way].filter(Boolean).join(" | "),
  );

test("a kernel that was broken is worse in verdict, in its worst error and in how many", () => {
  assert.deepEqual(told(report("pass", 0.25, 0, 2e6), report("fail", 50, 7, 1e6)), [
    "verdict | pass | fail | worse | worse",
    "o worst | 0.25 | 50 | × 200 | worse",
    "o over limit | 0 | 7 | worse | worse",
    "GPU time | 2.0 ms | 1.0 ms | × 0.50 | better",
  ]);
});

test("what differs by noise is the same, and what is not known is no change", () => {
  assert.deepEqual(told(report("pass", 0.25, 0, 2e6), report("pass", 0.2501, 0, 2.1e6)), [
    "verdict | pass | pass | same",
    "o worst | 0.25 | 0.25 | same",
    "o over limit | 0 | 0 | same",
    "GPU time | 2.0 ms | 2.1 ms | same",
  ]);
  const untimed = told(report("pass", 0, 0), report("fail", "NaN", 1)).slice(1);
  assert.deepEqual(untimed, [
    "o worst | 0 | NaN | worse | worse",
    "o over limit | 0 | 1 | worse | worse",
    "GPU time | – | –",
  ]);
});

test("an output that only one of them has stands beside a dash", () => {
  const now = { ...report("error", 1, 1), outputs: {} };
  assert.deepEqual(told(report("pass", 0.5, 0), now).slice(0, 3), [
    "verdict | pass | error | worse | worse",
    "o worst | 0.50 | –",
    "o over limit | 0 | –",
  ]);
});
