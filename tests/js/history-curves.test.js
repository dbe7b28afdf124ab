import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decades,
  drawing,
  logShare,
  ticksOf,
  timeDrawing,
  timeOf,
  worstDrawing,
} from "../../static/js/history/curves.js";
import { listUrl, pageUrl, readQuery } from "../../static/js/history/query.js";

const row = (/** @type {string} */ run, more = {}) =>
  /** @type {any} */ ({
    run,
    case: "forward:T=8,D=4",
    kernel: "fa2_forward",
    own: "",
    status: "pass",
    worst: 0.5,
    elapsed_ns: 2e6,
    gpu_ns: null,
    median_ns: null,
    ...more,
  });

test("runs of a kernel on a case are one curve, oldest first", () => {
  const { curves, kernels, count } = worstDrawing([
    row("d", { worst: 0.4 }),
    row("c", { case: "forward:T=16,D=4" }),
    row("b", { own: "mine" }),
    row("a", { worst: 0.3 }),
  ]);
  assert.equal(count, 4);
  assert.deepEqual(kernels, ["fa2_forward", "mine"]);
  assert.deepEqual(
    curves.map(({ kernel, style, points }) => [
      kernel,
      style,
      points.map(({ n, value }) => [n, value]),
    ]),
    [
      [
        "fa2_forward",
        0,
        [
          [0, 0.3],
          [3, 0.4],
        ],
      ],
      ["mine", 1, [[1, 0.5]]],
      ["fa2_forward", 0, [[2, 0.5]]],
    ],
  );
});

test("the axis of errors always holds the limit, and what is beyond it is said to be so", () => {
  const { range, curves } = worstDrawing([
    row("e", { worst: "NaN" }),
    row("d", { worst: "inf" }),
    row("c", { worst: 0 }),
    row("b", { worst: 3e9 }),
    row("a", { worst: 0.02 }),
  ]);
  assert.deepEqual(range, [0.01, 1e6]);
  assert.deepEqual(
    curves[0].points.map(({ value, beyond }) => [value, beyond]),
    [
      [0.02, false],
      [1e6, true],
      [0.01, true],
      [1e6, true],
      [1e6, true],
    ],
  );
});

test("a run without a value has its place and no point", () => {
  const { curves, count } = worstDrawing([row("b"), row("a", { worst: null, status: "error" })]);
  assert.equal(count, 2);
  assert.deepEqual(
    curves[0].points.map(({ n }) => n),
    [1],
  );
});

test("kernels have the same number in both drawings", () => {
  const rows = [row("b", { kernel: "second" }), row("a", { worst: null })];
  assert.deepEqual(worstDrawing(rows).kernels, timeDrawing(rows).kernels);
  assert.equal(worstDrawing(rows).curves[0].style, 1);
});

test("the best time there is counts", () => {
  assert.equal(timeOf(row("a")), 2e6);
  assert.equal(timeOf(row("a", { gpu_ns: 1e5 })), 1e5);
  assert.equal(timeOf(row("a", { gpu_ns: 1e5, median_ns: 9e4 })), 9e4);
});

test("an axis that nothing is drawn on has no ticks, unless a limit lies on it", () => {
  const refused = [row("a", { worst: null, elapsed_ns: null, status: "skip" })];
  assert.deepEqual(timeDrawing(refused).ticks, []);
  assert.deepEqual(worstDrawing(refused).ticks, [1, 10]);
});

test("the ends of an axis are powers of ten, a decade apart at least", () => {
  assert.deepEqual(decades([2e3, 3e3]), [1e3, 1e4]);
  assert.deepEqual(decades([1e3]), [1e3, 1e4]);
  assert.deepEqual(decades([0.05, 0.2], 1), [0.01, 1]);
  assert.deepEqual(decades([1e-30, 1e30], 1), [1e-6, 1e6]);
  assert.deepEqual(decades([]), [1, 10]);
});

test("ticks are few and begin at the low end", () => {
  assert.deepEqual(ticksOf([1e-2, 1e2]).map(Math.log10), [-2, -1, 0, 1, 2]);
  assert.equal(ticksOf([1e-6, 1e6]).length, 7);
});

test("a decade is as long as any other", () => {
  const share = logShare([0.01, 100]);
  assert.deepEqual(
    [0.01, 0.1, 1, 100].map((value) => Number(share(value).toFixed(9))),
    [0, 0.25, 0.5, 1],
  );
});

test("the drawing is told in a sentence", () => {
  const { summary } = worstDrawing([row("b", { worst: 2 }), row("a", { worst: 0.25 })]);
  assert.equal(
    summary,
    "Worst error over allowed of 2 runs, oldest first: from 0.25 to 2.00, the last 2.00.",
  );
  const one = timeDrawing([row("a", { elapsed_ns: 2e6 })]);
  assert.match(one.summary, /^Time of 1 run, oldest first: from 2\.0 ms/);
  const none = drawing([], () => 1, { what: "Time", say: String });
  assert.equal(none.summary, "Time: no run has one.");
});

test("filters are the same in the page's URL and for the server, empty ones left out", () => {
  const { query, run } = readQuery("?kind=golden&case=forward:*&status=fail,error&run=0a1b&junk=1");
  assert.equal(run, "0a1b");
  assert.deepEqual(readQuery(pageUrl(query, run).replace("/history", "")), { query, run });
  assert.equal(
    listUrl(query, 50, 7),
    "/api/history?kind=golden&case=forward%3A*&status=fail%2Cerror&limit=50&before=7",
  );
  assert.equal(pageUrl(readQuery("").query, ""), "/history");
});
