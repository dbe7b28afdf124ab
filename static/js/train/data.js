// @ts-check
/**
 * What the language model reads: the bytes of corpus.txt, in batches drawn by Philox. The twin,
 * server/gpt_data.py, draws the same.
 */
import { SpecError } from "../attention/errors.js";
import { fillWords } from "../rng.js";

/** @typedef {import("./config.js").Config} Config */

/** Third counter word of the stream that offsets come from; 0 to 4 belong to inputs of cases. */
const BATCH_TAG = 16;

/** @type {Promise<Uint8Array<ArrayBuffer>> | null} */
let fetched = null;

/**
 * The text, fetched once.
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 * @throws {Error} it cannot be fetched; the next call tries again
 */
export function corpus() {
  fetched ??= read(new URL("./corpus.txt", import.meta.url));
  fetched.catch(() => {
    fetched = null;
  });
  return fetched;
}

/** @param {URL} url */
async function read(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname} cannot be read: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/**
 * Where the B sequences of a step begin in a text of `size` bytes.
 * @param {Config} config
 * @param {string} seed
 * @param {number} step counted from 0; it starts at a Philox block of its own
 * @param {number} size
 * @returns {number[]}
 * @throws {SpecError} the text is shorter than a sequence and its last target
 */
export function offsets({ B, T }, seed, step, size) {
  if (size <= T) {
    throw new SpecError(`T=${T} needs a text of at least ${T + 1} bytes, not ${size}`);
  }
  const words = fillWords(new Uint32Array(B), seed, BATCH_TAG, step * Math.ceil(B / 4));
  return Array.from(words, (word) => word % (size - T));
}

/**
 * Tokens and targets of a step, [B, T] each; a target is the byte behind its token.
 * @param {Uint8Array} text
 * @param {Config} config
 * @param {string} seed
 * @param {number} step counted from 0
 */
export function batch(text, config, seed, step) {
  const { B, T } = config;
  const tokens = new Uint32Array(B * T);
  const targets = new Uint32Array(B * T);
  offsets(config, seed, step, text.length).forEach((at, b) => {
    tokens.set(text.subarray(at, at + T), b * T);
    targets.set(text.subarray(at + 1, at + 1 + T), b * T);
  });
  return { tokens, targets };
}
