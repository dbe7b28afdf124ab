// @ts-check
/** The numbers of a case by the names that a manifest may use for them. */

import { completeSpec } from "../attention/spec.js";

/** @typedef {import("../attention/index.js").Spec} Spec */
/** @typedef {import("../attention/spec.js").FullSpec} FullSpec */

/**
 * Integers, but for scale, scale_log2 (scale · log₂e) and softcap.
 *
 * B H Hkv Tq Tk D, T where Tq = Tk, C = H·D, Ckv = Hkv·D, group = H / Hkv; causal (0 or 1);
 * causal_offset: row i sees j ≤ i + causal_offset; window_left, window_right (−1 = open); of every
 * tensor NAME_offset, NAME_batch, NAME_row, NAME_head, counted in elements, of the bias also
 * bias_key (0 along an axis that it does not have).
 *
 * @param {FullSpec} spec
 * @returns {Record<string, number>}
 */
export function valuesOf(spec) {
  const { B, H, Hkv, Tq, Tk, D, causal, align, scale, window, softcap, strides } = spec;
  /** @type {Record<string, number>} */
  const values = { B, H, Hkv, Tq, Tk, D };
  if (Tq === Tk) values.T = Tq;
  Object.assign(values, { C: H * D, Ckv: Hkv * D, group: H / Hkv });
  Object.assign(values, { causal: Number(causal), causal_offset: align === "br" ? Tk - Tq : 0 });
  Object.assign(values, { window_left: window[0], window_right: window[1] });
  Object.assign(values, { scale, scale_log2: scale * Math.LOG2E, softcap });
  for (const [tensor, { offset, batch, row, head }] of Object.entries(strides)) {
    values[`${tensor}_offset`] = offset;
    values[`${tensor}_batch`] = batch;
    values[`${tensor}_row`] = row;
    values[`${tensor}_head`] = head;
  }
  return { ...values, ...biasStrides(spec) };
}

/** @param {FullSpec} spec */
function biasStrides({ bias, H, Tq, Tk }) {
  const [bias_batch, bias_head, bias_row, bias_key] = {
    none: [0, 0, 0, 0],
    tt: [0, 0, Tk, 1],
    htt: [0, Tq * Tk, Tk, 1],
    bhtt: [H * Tq * Tk, Tq * Tk, Tk, 1],
    b11t: [Tk, 0, 0, 1],
  }[bias] ?? [0, 0, 0, 0];
  return { bias_batch, bias_head, bias_row, bias_key };
}

/** Every name that there is. */
export const VALUE_NAMES = Object.freeze(Object.keys(valuesOf(completeSpec({ Tq: 1, D: 1 }))));

/** Values that are not whole. */
export const REAL_VALUES = ["scale", "scale_log2", "softcap"];
