// @ts-check
/**
 * What the memory that a kernel writes holds before a pass. Before the first it is one NaN word
 * everywhere: read by mistake, it spoils whatever is made of it. But `max(old, x)` drops a NaN, and
 * no comparison with one is true; so before the second pass it is large numbers of both signs, read
 * as f32 and as two f16. What a kernel keeps of them, or adds to them, differs from the first pass.
 *
 * server/poison.py makes the same words: the judge has to know them.
 */

/**
 * Words before they repeat: twice a prime, so that no stride of a tensor meets one sign alone.
 */
const PERIOD = 2 * 32749;

/**
 * The word of the second pass at each place, given the word that its guards hold, which is another
 * one in each run. The two halves of a word differ in sign, and so do the two words of a pair;
 * which of them comes first is as good as random.
 *
 * @param {number} word
 * @param {number} count
 */
export function finiteWords(word, count) {
  const words = new Uint32Array(count);
  const period = Math.min(count, PERIOD);
  for (let n = 0; n < period; n++) {
    let mixed = Math.imul((n >>> 1) ^ word, 0x9e3779b1);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
    mixed ^= mixed >>> 13;
    const negative = (mixed ^ n) & 1;
    const upper = 0x7b00 | ((mixed >>> 8) & 0xff) | (negative << 15);
    const lower = 0x7b00 | ((mixed >>> 16) & 0xff) | ((1 - negative) << 15);
    words[n] = ((upper << 16) | lower) >>> 0;
  }
  for (let n = period; n < count; n += period) {
    words.set(words.subarray(0, Math.min(period, count - n)), n);
  }
  return words;
}

/**
 * The words of a pass at each place of a tensor.
 *
 * @param {number} pass 0 or 1
 * @param {number} word of this pass
 * @param {number} count
 */
export function poisonWords(pass, word, count) {
  return pass === 0 ? new Uint32Array(count).fill(word) : finiteWords(word, count);
}
