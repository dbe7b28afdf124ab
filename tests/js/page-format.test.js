// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatBytes,
  formatDuration,
  formatRatio,
  formatTolerance,
  formatValue,
  plural,
  toNumber,
} from "../../static/js/format.js";

/** @param {(x: any) => string} format @param {[unknown, string][]} pairs */
function each(format, pairs) {
  for (const [value, text] of pairs) assert.equal(format(value), text);
}

test("values show nine digits, enough to tell two float32 apart", () => {
  const next = Math.fround(0.1) + 2 ** -27;
  assert.notEqual(formatValue(Math.fround(0.1)), formatValue(next));
  each(formatValue, [
    [0, "0"],
    [-0, "0"],
    [1, "1"],
    [-0.25, "-0.25"],
    [Math.fround(1 / 3), "0.333333343"],
    [1.5e-7, "1.5e-7"],
    [1e10, "1e10"],
    [-3e38, "-3e38"],
  ]);
});

test("no number is written as a word, and nothing as a dash", () => {
  each(formatValue, [
    [NaN, "NaN"],
    [Infinity, "inf"],
    [-Infinity, "-inf"],
    ["nan", "NaN"],
    ["-inf", "-inf"],
    ["Infinity", "inf"],
    [null, "–"],
    [undefined, "–"],
  ]);
});

test("ratios keep the digits that matter and stay narrow", () => {
  each(formatRatio, [
    [0, "0"],
    [0.0004, "4e-4"],
    [0.0123, "0.012"],
    [0.134, "0.13"],
    [1, "1.00"],
    [1.004, "1.004"],
    [9.876, "9.88"],
    [54.3, "54"],
    [12345, "1.2e4"],
    ["inf", "inf"],
    ["nan", "NaN"],
    [null, "–"],
  ]);
});

test("a ratio just over the limit does not read like one just under it", () => {
  assert.notEqual(formatRatio(1.0001), formatRatio(0.9999));
});

test("tolerances, durations, sizes and plurals read as people write them", () => {
  each(formatTolerance, [
    [3.14159e-7, "3.14e-7"],
    [0.00123456, "0.00123"],
    [null, "–"],
  ]);
  each(formatDuration, [
    [900, "1 µs"],
    [1_234_567, "1.2 ms"],
    [56_700_000, "57 ms"],
    [2_340_000_000, "2.34 s"],
    [null, "–"],
  ]);
  each(formatBytes, [
    [16384, "16 KiB"],
    [134217728, "128 MiB"],
    [1610612736, "1.5 GiB"],
    [2147483644, "2147483644 B"],
    [100, "100 B"],
  ]);
  assert.deepEqual([plural(1, "check"), plural(2, "case")], ["1 check", "2 cases"]);
});

test("JSON's words for numbers it lacks become numbers again", () => {
  assert.deepEqual(["nan", "NaN", "inf", "-inf", "Infinity", "-Infinity", 2, null].map(toNumber), [
    NaN,
    NaN,
    Infinity,
    -Infinity,
    Infinity,
    -Infinity,
    2,
    null,
  ]);
});
