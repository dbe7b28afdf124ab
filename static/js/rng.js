// @ts-check
/**
 * Philox4x32-10: the random words behind every input, the same here and in server/rng.py.
 *
 *   key      (seed low, seed high)
 *   counter  (block low, block high, tensor tag, layout version)
 *
 * Block n gives words 4n … 4n+3. The distributions use exact operations only, so both sides agree
 * on every bit. Words stay in a Uint32Array: as plain numbers above 2³¹ they would become doubles.
 *
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
 * @module
 */

/** Last counter word; raised when the mapping from words to elements changes. */
export const LAYOUT_VERSION = 0;

const ROUNDS = 10;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
/** The multipliers D2511F53 and CD9E8D57 as 16-bit halves: JavaScript has no 32 × 32 → 64 product. */
const M0_HIGH = 0xd251;
const M0_LOW = 0x1f53;
const M1_HIGH = 0xcd9e;
const M1_LOW = 0x8d57;
const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;

const WORDS_PER_NORMAL = 6;
/** Elements of a normal tensor at a time. Even: 2 elements take 3 blocks, so pieces start at one. */
const PIECE = 1 << 14;

/**
 * Fills `out` with the words of consecutive counters, four each.
 *
 * @param {Uint32Array} out
 * @param {[number, number]} key low and high
 * @param {[number, number, number, number]} counter of the first block; its first word counts up
 */
export function philox(out, key, counter) {
  const keys = new Int32Array(2 * ROUNDS);
  for (let r = 0; r < ROUNDS; r++) {
    keys[2 * r] = (key[0] | 0) + Math.imul(r, WEYL_0);
    keys[2 * r + 1] = (key[1] | 0) + Math.imul(r, WEYL_1);
  }
  const first = counter[0] | 0;
  const high = counter[1] | 0;
  const tag = counter[2] | 0;
  const version = counter[3] | 0;
  for (let e = 0; e < out.length; e += 4) {
    let c0 = (first + (e >>> 2)) | 0;
    let c1 = high;
    let c2 = tag;
    let c3 = version;
    for (let r = 0; r < 2 * ROUNDS; r += 2) {
      // The high word of a product from four 16-bit products; no sum here passes 2³² - 1.
      const a0 = c0 & 0xffff;
      const b0 = c0 >>> 16;
      const s0 = Math.imul(b0, M0_LOW) + (Math.imul(a0, M0_LOW) >>> 16);
      const t0 = Math.imul(a0, M0_HIGH) + (s0 & 0xffff);
      const high0 = Math.imul(b0, M0_HIGH) + (s0 >>> 16) + (t0 >>> 16);
      const a2 = c2 & 0xffff;
      const b2 = c2 >>> 16;
      const s2 = Math.imul(b2, M1_LOW) + (Math.imul(a2, M1_LOW) >>> 16);
      const t2 = Math.imul(a2, M1_HIGH) + (s2 & 0xffff);
      const high2 = Math.imul(b2, M1_HIGH) + (s2 >>> 16) + (t2 >>> 16);
      const low0 = Math.imul(c0, M0);
      c0 = high2 ^ c1 ^ keys[r];
      c1 = Math.imul(c2, M1);
      c2 = high0 ^ c3 ^ keys[r + 1];
      c3 = low0;
    }
    // Stores behind the end of a typed array are dropped: the last block may be cut.
    out[e] = c0;
    out[e + 1] = c1;
    out[e + 2] = c2;
    out[e + 3] = c3;
  }
}

/**
 * Fills `out` with the words of stream `tag`, from word 4 · startBlock on.
 *
 * @template {Uint32Array} Words
 * @param {Words} out
 * @param {string} seed decimal or 0x…, below 2⁶⁴; a string, since JSON numbers end at 2⁵³
 * @param {number} tag
 * @param {number} [startBlock] the last block used must stay below 2³²
 * @returns {Words} `out`
 */
export function fillWords(out, seed, tag, startBlock = 0) {
  if (startBlock + Math.ceil(out.length / 4) > 2 ** 32) {
    throw new RangeError(`${out.length} words from block ${startBlock} on pass block 2**32 - 1`);
  }
  const value = BigInt(seed);
  const key = /** @type {[number, number]} */ ([Number(value & 0xffffffffn), Number(value >> 32n)]);
  philox(out, key, [startBlock, 0, tag, LAYOUT_VERSION]);
  return out;
}

/**
 * [0, 1) in steps of 2⁻²⁴, one word each.
 *
 * @param {Uint32Array} words
 */
export function uniforms(words) {
  const out = new Float32Array(words.length);
  for (let e = 0; e < out.length; e++) out[e] = (words[e] >>> 8) * 2 ** -24;
  return out;
}

/**
 * [-1, 1) in steps of 2⁻¹⁰, one word each: the same values in f32, f16 and f64.
 *
 * @param {Uint32Array} words
 */
export function f16Exact(words) {
  const out = new Float32Array(words.length);
  for (let e = 0; e < out.length; e++) out[e] = (words[e] >>> 21) * 2 ** -10 - 1;
  return out;
}

/**
 * Irwin–Hall: the sum of the twelve 16-bit halves of six words, minus its mean. σ = 1, |x| ≤ 6.
 * An integer below 2²⁰ times a power of two, so nothing is rounded.
 *
 * @param {Uint32Array} words
 * @param {Float32Array} [out] as long as there are sixes of words
 */
export function normals(words, out = new Float32Array(words.length / WORDS_PER_NORMAL)) {
  for (let e = 0, w = 0; e < out.length; e++, w += WORDS_PER_NORMAL) {
    let sum = 0;
    for (let i = w; i < w + WORDS_PER_NORMAL; i++) sum += (words[i] & 0xffff) + (words[i] >>> 16);
    out[e] = (sum - 6 * 65535) * 2 ** -16;
  }
  return out;
}

/**
 * The first `count` normals of stream `tag`; element e uses words 6e … 6e+5.
 *
 * @param {string} seed
 * @param {number} tag
 * @param {number} count
 */
export function randomNormals(seed, tag, count) {
  const out = new Float32Array(count);
  const words = new Uint32Array(WORDS_PER_NORMAL * PIECE);
  for (let first = 0; first < count; first += PIECE) {
    const piece = out.subarray(first, first + PIECE);
    const used = words.subarray(0, WORDS_PER_NORMAL * piece.length);
    normals(fillWords(used, seed, tag, (first / 2) * 3), piece);
  }
  return out;
}
