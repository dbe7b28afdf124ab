// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { finiteWords, poisonWords } from "../../static/js/poison.js";

test("the words of the second pass are those that the judge expects", () => {
  const words = finiteWords(0xffc1fe05, 65500); // tests/unit/test_poison.py has the same ones
  assert.deepEqual(
    [0, 1, 2, 3, 65497, 65498, 65499].map((n) => words[n].toString(16)),
    ["fb8a7b6d", "7b8afb6d", "7b01fb3d", "fb017b3d", "7bc4fb0e", "fb8a7b6d", "7b8afb6d"],
  );
});

test("before the first pass every word is the same NaN, before the second none is", () => {
  assert.deepEqual([...poisonWords(0, 0x7fc17e05, 3)], Array(3).fill(0x7fc17e05));
  const values = new Float32Array(poisonWords(1, 0xffc1fe05, 100).buffer);
  assert.ok(values.every((value) => Math.abs(value) > 1e35 && Number.isFinite(value)));
});
