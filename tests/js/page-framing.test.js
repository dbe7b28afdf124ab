// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { frame, GUARD_BYTES, guardTensor, unframe } from "../../static/js/framing.js";

test("an output lies between two guards, and its binding reaches over the one behind it", () => {
  assert.deepEqual(frame(64), { dataBytes: 64, offset: 256, bindingBytes: 320, totalBytes: 576 });
});

test("an output of an odd number of f16 values is padded to whole words before its guard", () => {
  assert.deepEqual(frame(6), { dataBytes: 6, offset: 256, bindingBytes: 264, totalBytes: 520 });
});

test("a buffer comes apart into exactly its data and the 64 words on either side", () => {
  const { totalBytes } = frame(6);
  const words = Uint32Array.from({ length: totalBytes / 4 }, (_, n) => n);
  const { data, front, back } = unframe(words.buffer, 6);
  assert.equal(data.byteOffset, GUARD_BYTES);
  assert.deepEqual([...data], [64, 0, 0, 0, 65, 0]);
  assert.deepEqual([front.length, front[0], front[63]], [64, 0, 63]);
  // The word 65 is half data, half guard.
  assert.deepEqual([back.length, back[0], back[63]], [64, 66 << 16, 129 << 16]);
});

test("guards are sent as passes, sides, words", () => {
  const side = (/** @type {number} */ fill) => new Uint32Array(64).fill(fill);
  const sent = guardTensor({ front: side(1), back: side(2) }, { front: side(3), back: side(4) });
  assert.equal(sent.byteLength, 2 * 2 * 64 * 4);
  assert.deepEqual(
    [0, 63, 64, 128, 192, 255].map((n) => sent[n]),
    [1, 1, 2, 3, 4, 4],
  );
});
