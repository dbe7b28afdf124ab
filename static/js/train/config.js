// @ts-check
/**
 * The sizes of a language model, checked, and what follows from them. server/presets.py reads the
 * same table.
 */
import { SpecError } from "../attention/errors.js";
import table from "./presets.json" with { type: "json" };

/**
 * One model and its batch.
 * @typedef {object} Config
 * @property {number} layers transformer blocks
 * @property {number} C channels of the residual stream, H·D
 * @property {number} T context: positions of a sequence
 * @property {number} B sequences of a batch
 * @property {number} H heads
 * @property {number} D channels of a head
 * @property {number} rate learning rate, constant
 */

/** Tokens are bytes. */
export const VOCABULARY = 256;

/** @type {Readonly<Record<string, Config>>} */
export const PRESETS = table.presets;

/** β1, β2, ε and decay of AdamW. */
export const OPTIMIZER = table.optimizer;

/**
 * A preset by name, or a config that is checked.
 * @param {string | Config} given
 * @returns {Config}
 * @throws {SpecError} an unknown preset, a size that is no positive whole number, C ≠ H·D
 */
export function configOf(given) {
  if (typeof given === "string") {
    if (Object.hasOwn(PRESETS, given)) return PRESETS[given];
    throw new SpecError(`preset=${given}: unknown; there are ${Object.keys(PRESETS).join(", ")}`);
  }
  for (const name of /** @type {const} */ (["layers", "C", "T", "B", "H", "D"])) {
    if (!Number.isInteger(given[name]) || given[name] < 1) {
      throw new SpecError(`${name}=${given[name]}: give a whole number, 1 or more`);
    }
  }
  const { C, H, D, rate } = given;
  if (C !== H * D) throw new SpecError(`C=${C} must be H·D, and H=${H}, D=${D} make ${H * D}`);
  if (!(rate > 0 && rate < 1)) {
    throw new SpecError(`rate=${rate}: give a number between 0 and 1`);
  }
  return given;
}

/**
 * The attention inside every block, as the attention library wants it described.
 * @param {Config} config
 */
export function attentionSpec({ B, T, H, D }) {
  return { B, H, Hkv: H, Tq: T, Tk: T, D, causal: true, layout: /** @type {const} */ ("bthd") };
}

/**
 * Floating-point operations of a step, about: the matrix products, a multiplication and an addition
 * each. Attention counts the visible half of its scores, and five products in the backward.
 * @param {Config} config
 */
export function flopsPerStep({ layers, C, T, B, H, D }) {
  const products = 12 * C * C * layers + C * VOCABULARY;
  const scores = (T * (T + 1)) / 2;
  return 6 * B * T * products + layers * 2 * (2 + 5) * B * H * scores * D;
}
