// @ts-check

/**
 * How an output lies in its buffer: guard words, data, guard words.
 *
 * The whole buffer is filled with the pass's poison before the pass (poison.js; the guards with one
 * NaN word in either pass), so a word that is still poison was not written, and a guard word that
 * is not poison was. The kernel's binding starts at
 * the data and reaches to the end of the buffer: an overrun lands in the guard behind it, where
 * it is seen, and not at a clamped index, where it would spoil the last element. The guard behind
 * an odd number of f16 elements begins with the other half of the last one's word.
 */

/** Also the largest offset alignment that WebGPU asks of a storage binding. */
export const GUARD_BYTES = 256;
const GUARD_WORDS = GUARD_BYTES / 4;

/**
 * @param {number} dataBytes
 * @returns {{dataBytes: number, offset: number, bindingBytes: number, totalBytes: number}}
 */
export function frame(dataBytes) {
  const paddedBytes = Math.ceil(dataBytes / 4) * 4;
  return {
    dataBytes,
    offset: GUARD_BYTES,
    bindingBytes: paddedBytes + GUARD_BYTES,
    totalBytes: GUARD_BYTES + paddedBytes + GUARD_BYTES,
  };
}

/**
 * Takes one pass's buffer apart.
 *
 * @param {ArrayBuffer} buffer `totalBytes` of the frame
 * @param {number} dataBytes
 */
export function unframe(buffer, dataBytes) {
  return {
    data: new Uint8Array(buffer, GUARD_BYTES, dataBytes),
    front: new Uint32Array(buffer, 0, GUARD_WORDS),
    // A copy, since it need not be aligned.
    back: new Uint32Array(buffer.slice(GUARD_BYTES + dataBytes, 2 * GUARD_BYTES + dataBytes)),
  };
}

/**
 * The guard words of both passes as they are sent: u32 [2 passes, 2 sides, 64 words].
 *
 * @param {{front: Uint32Array, back: Uint32Array}} first
 * @param {{front: Uint32Array, back: Uint32Array}} second
 */
export function guardTensor(first, second) {
  const words = new Uint32Array(4 * GUARD_WORDS);
  [first.front, first.back, second.front, second.back].forEach((side, n) => {
    words.set(side, n * GUARD_WORDS);
  });
  return words;
}
