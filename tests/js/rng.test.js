// The words and distributions of static/js/rng.js against published and committed answers.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import {
  f16Exact,
  fillWords,
  normals,
  philox,
  randomNormals,
  uniforms,
} from "../../static/js/rng.js";

const SEED = "1234567890123456789";

/** @param {ArrayBufferView} array */
function sha(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

/** @param {string} text words in hexadecimal */
const hex = (text) => text.split(" ").map((word) => Number.parseInt(word, 16));

test("philox gives the published words of Random123", () => {
  const known = [
    ["0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"],
    [
      "ffffffff ffffffff ffffffff ffffffff",
      "ffffffff ffffffff",
      "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ],
    [
      "243f6a88 85a308d3 13198a2e 03707344",
      "a4093822 299f31d0",
      "d16cfe09 94fdcceb 5001e420 24126ea1",
    ],
  ];
  for (const [counter, key, words] of known) {
    const out = new Uint32Array(4);
    philox(out, hex(key), hex(counter));
    assert.deepEqual([...out], hex(words));
  }
});

test("a million words, uniforms and normals have the digests that NumPy and WGSL gave", () => {
  const words = fillWords(new Uint32Array(2 ** 20), SEED, 0);
  assert.equal(sha(words), "ef39e36676c9a5a8");
  // This digest was taken over [-1, 1).
  assert.equal(sha(uniforms(words).map((u) => 2 * u - 1)), "91525699fbe5134e");
  assert.equal(sha(normals(words)), "b67c30154581ea40");
  assert.equal(sha(randomNormals(SEED, 0, Math.floor(2 ** 20 / 6))), "b67c30154581ea40");
});

test("every distribution stays in its range and on its grid", () => {
  const words = fillWords(new Uint32Array(60000), "5", 3);
  words.set([0, 0, 0, 0, 0, 0, ...Array(6).fill(0xffffffff)]);
  assert.ok(uniforms(words).every((u) => u >= 0 && u < 1));
  assert.deepEqual([...f16Exact(words.subarray(5, 7))], [-1, 1 - 2 ** -10]);
  assert.deepEqual([...normals(words.subarray(0, 12))], [-6 + 6 * 2 ** -16, 6 - 6 * 2 ** -16]);
});

test("a stream can be entered at any block and cut at any word", () => {
  const whole = fillWords(new Uint32Array(103), "99", 2);
  assert.deepEqual(fillWords(new Uint32Array(63), "99", 2, 10), whole.subarray(40));
  assert.notDeepEqual(fillWords(new Uint32Array(103), "99", 1), whole);
});

test("seeds above 2**53 and in hexadecimal are read without loss", () => {
  const words = (/** @type {string} */ seed) => [...fillWords(new Uint32Array(4), seed, 0)];
  assert.notDeepEqual(words("9007199254740993"), words("9007199254740992"));
  assert.notDeepEqual(words("18446744073709551615"), words("18446744073709551614"));
  assert.deepEqual(words("0xffffffffffffffff"), words("18446744073709551615"));
});

test("a stream that would pass the last block is refused", () => {
  assert.throws(() => fillWords(new Uint32Array(8), "0", 0, 2 ** 32 - 1), /pass block/);
});
