// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceOf } from "../../static/js/sentence.js";
import { binsOf, formatUlp, profileSummary } from "../../static/js/ui/anatomy-numbers.js";

/** @typedef {import("../../static/js/checks.js").Report} Report */

/**
 * @param {Report["status"]} status
 * @param {Record<string, [ratio: number, where: string]>} outputs
 * @param {Report["finding"]} [finding]
 */
function report(status, outputs, finding = null) {
  const found = Object.entries(outputs).map(([name, [worst_ratio, where]]) => [
    name,
    { worst_ratio, where },
  ]);
  const message = "first line\nsecond";
  return /** @type {Report} */ ({ status, message, finding, outputs: Object.fromEntries(found) });
}

test("ULPs are exact while they are few, and words where there are none", () => {
  assert.deepEqual([0, 3, 999999, 1e6, 4.1e9, "inf", "NaN", null].map(formatUlp), [
    "0",
    "3",
    "999999",
    "1.00e6",
    "4.10e9",
    "inf",
    "NaN",
    "–",
  ]);
});

test("a histogram has its bins in order, NaN and inf always among them", () => {
  const bins = binsOf({ zero: 5, buckets: [4, 0, 2], inf: 0, nan: 1 });
  assert.deepEqual(
    bins.map(({ label, count }) => `${label}: ${count}`),
    ["0: 5", "1: 4", "2–3: 0", "4–7: 2", "inf: 0", "NaN: 1"],
  );
  assert.equal(binsOf({ zero: 0, buckets: Array(12).fill(1), inf: 0, nan: 0 })[12].label, "2¹¹ …");
});

test("a profile says where its wrong places are", () => {
  const profile = /** @type {const} */ ({ axis: "i", size: 4, step: 1, tile: 0, tiles: null });
  const at = [0, 1, 2, 3];
  assert.equal(
    profileSummary({ ...profile, at, worst: [0.1, 9, "inf", 0.2], wrong: [0, 2, 1, 0] }),
    "wrong elements in 2 of 4 query rows, from query row 1 to 2",
  );
  assert.equal(
    profileSummary({ ...profile, at, worst: [0.1, 0.25, 0.1, 0.2], wrong: [0, 0, 0, 0] }),
    "no wrong element in 4 query rows; at most 0.25 of what is allowed",
  );
});

test("the sentence says what is wrong and where, outputs that agree together", () => {
  const place = "all in odd heads h (1, 3), every element there";
  const both = report("fail", { o: [9, place], lse: [7, place] });
  assert.equal(
    sentenceOf(both, ["o", "lse"]),
    "o and lse are wrong in odd heads h (1, 3), every element there",
  );
  const one = report("fail", { o: [9, "everywhere"], lse: [0.5, ""] });
  assert.equal(sentenceOf(one, ["o", "lse"]), "o is wrong everywhere");
  const rows = report("fail", { o: [9, "all with i ≥ 64, every element there"] });
  assert.equal(sentenceOf(rows, ["o"]), "o is wrong where i ≥ 64, every element there");
  const few = report("fail", { o: [9, "scattered, without a simple pattern: in 3 of 9 rows"] });
  assert.equal(sentenceOf(few, ["o"]), "o is wrong here and there: in 3 of 9 rows");
});

test("what is wrong with the memory comes before what is wrong with the numbers", () => {
  const finding = { check: "written", output: "dk", sentence: "never written: all with j ≥ 64" };
  const found = report("fail", { o: [0.5, ""], dk: [9, "everywhere"] }, finding);
  assert.equal(sentenceOf(found, ["dk"]), "dk: never written: all with j ≥ 64");
  assert.equal(
    sentenceOf(found, ["o"]),
    "every element within its bound, at most 0.50 of it; what is wrong lies in dk",
  );
});

test("a pass says how far from its bounds it stayed, an error its first line", () => {
  const right = report("pass", { o: [0.25, ""], lse: [0.125, ""] });
  assert.equal(
    sentenceOf(right, ["o", "lse"]),
    "every element within its bound, at most 0.25 of it",
  );
  assert.equal(sentenceOf(report("error", {}), ["o"]), "first line");
});
