// @ts-check
import { formatDuration, formatRatio, toNumber } from "./format.js";

/**
 * A case before and after an edit, number by number.
 *
 * @typedef {import("./checks.js").Report} Report
 *
 * @typedef {object} Row
 * @property {string} name    what is compared: an output and its measure
 * @property {string} before
 * @property {string} now
 * @property {string} change  in words or as a factor; "" = nothing worth saying
 * @property {"better" | "worse" | ""} way
 */

/** @typedef {import("./format.js").Number_} Number_ */

/** Times on a software adapter and on a busy GPU differ by this much for no reason. */
const TIME_NOISE = 0.1;
/** Worst errors that differ by less are the same for a reader. */
const RATIO_NOISE = 0.005;

/**
 * @param {Report} before
 * @param {Report} now
 * @returns {Row[]}
 */
export function changeOf(before, now) {
  const rows = [statusRow(before, now)];
  const names = [...new Set([...Object.keys(before.outputs), ...Object.keys(now.outputs)])];
  for (const name of names) {
    const [a, b] = [before.outputs[name], now.outputs[name]];
    rows.push(
      numberRow(`${name} worst`, a?.worst_ratio, b?.worst_ratio, formatRatio, RATIO_NOISE),
      numberRow(`${name} over limit`, a?.bad, b?.bad, (n) => (n === null ? "–" : String(n)), 0),
    );
  }
  const time = (/** @type {Number_} */ ns) => (ns === null ? "–" : formatDuration(ns));
  rows.push(numberRow("GPU time", before.gpu_ns, now.gpu_ns, time, TIME_NOISE));
  return rows;
}

/**
 * @param {Report} before
 * @param {Report} now
 * @returns {Row}
 */
function statusRow(before, now) {
  const [a, b] = [before.status, now.status];
  const way = a === b ? "" : b === "pass" ? "better" : a === "pass" ? "worse" : "";
  return { name: "verdict", before: a, now: b, change: a === b ? "same" : way, way };
}

/**
 * @param {string} name
 * @param {Number_} before
 * @param {Number_} now
 * @param {(value: Number_) => string} format
 * @param {number} noise  share of the old value below which nothing has changed
 * @returns {Row}
 */
function numberRow(name, before, now, format, noise) {
  const [a, b] = [toNumber(before ?? null), toNumber(now ?? null)];
  const row = { name, before: format(before ?? null), now: format(now ?? null) };
  if (a === null || b === null) return { ...row, change: "", way: "" };
  if (Object.is(a, b) || Math.abs(b - a) <= noise * Math.abs(a)) {
    return { ...row, change: "same", way: "" };
  }
  // No number at all is worse than any number.
  const worse = Number.isNaN(b) || b > a;
  const factor = b / a;
  const told = Number.isFinite(factor) && factor > 0 && a > 0;
  const change = told ? `× ${formatRatio(factor)}` : worse ? "worse" : "better";
  return { ...row, change, way: worse ? "worse" : "better" };
}
