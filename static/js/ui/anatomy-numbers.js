// @ts-check
import { toNumber } from "../format.js";

/** @typedef {import("../format.js").Number_} Number_ */

/**
 * An output over all its heads, as the judge's server tells it.
 *
 * @typedef {object} Anatomy
 * @property {string} output
 * @property {string[]} axes
 * @property {Record<string, number>} tile   of the kernel, by axis
 * @property {number} elements
 * @property {number} wrong
 * @property {boolean} sampled
 * @property {{worst: (Number_)[][], wrong: (number | null)[][]}} heads  [batch][head]; null = not judged
 * @property {Ulps} ulps
 * @property {Worst[]} worst
 * @property {Profile[]} profiles
 *
 * @typedef {object} Ulps  how many elements are how many steps off
 * @property {number} zero
 * @property {number[]} buckets  [k]: 2ᵏ to 2ᵏ⁺¹ − 1 steps
 * @property {number} inf
 * @property {number} nan
 *
 * @typedef {object} Worst
 * @property {Record<string, number>} index
 * @property {Record<string, number>} tile
 * @property {Number_} actual
 * @property {Number_} expected
 * @property {Number_} allowed
 * @property {Number_} ratio
 * @property {Number_} ulp
 *
 * @typedef {object} Profile  the error along one axis
 * @property {"i" | "j" | "d"} axis
 * @property {number} size
 * @property {number} step    places behind one number
 * @property {number[]} at
 * @property {Number_[]} worst
 * @property {number[]} wrong
 * @property {number} tile    0 = not cut into tiles
 * @property {{at: number[], worst: Number_[], wrong: number[]} | null} tiles
 */

/**
 * Steps between two numbers: exact while they are few.
 *
 * @param {Number_} value
 */
export function formatUlp(value) {
  const x = toNumber(value);
  if (x === null) return "–";
  if (Number.isNaN(x)) return "NaN";
  if (x === Infinity) return "inf";
  return x < 1e6 ? String(x) : x.toExponential(2).replace("e+", "e");
}

/**
 * The bars of a histogram, left to right; NaN and inf always have theirs.
 *
 * @param {Ulps} ulps
 * @returns {{label: string, count: number, kind: "number" | "inf" | "nan"}[]}
 */
export function binsOf({ zero, buckets, inf, nan }) {
  const bins = [{ label: "0", count: zero, kind: /** @type {const} */ ("number") }];
  buckets.forEach((count, k) => {
    bins.push({ label: bucketLabel(k), count, kind: "number" });
  });
  return [
    ...bins,
    { label: "inf", count: inf, kind: "inf" },
    { label: "NaN", count: nan, kind: "nan" },
  ];
}

/** @param {number} k */
function bucketLabel(k) {
  if (k === 0) return "1";
  if (k < 10) return `${2 ** k}–${2 ** (k + 1) - 1}`;
  return `2${superscript(k)} …`;
}

/** @param {number} n */
export function superscript(n) {
  return [...String(n)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "⁻").join("");
}

/** What the places of an axis are called: one, and many. @type {Record<string, [string, string]>} */
export const PLACES = {
  i: ["query row", "query rows"],
  j: ["key", "keys"],
  d: ["channel", "channels"],
};

/**
 * A profile in one sentence.
 *
 * @param {Profile} profile
 */
export function profileSummary({ axis, size, at, step, wrong, worst }) {
  const [one, many] = PLACES[axis];
  const places = wrong.map((count, n) => (count > 0 ? n : -1)).filter((n) => n >= 0);
  if (!places.length) {
    const most = Math.max(...worst.map((ratio) => toNumber(ratio) ?? 0));
    return `no wrong element in ${size} ${many}; at most ${most.toPrecision(2)} of what is allowed`;
  }
  const [first, last] = [at[places[0]], at[places[places.length - 1]]];
  const range = first === last ? `at ${one} ${first}` : `from ${one} ${first} to ${last}`;
  const unit = step === 1 ? many : `groups of ${step} ${many}`;
  return `wrong elements in ${places.length} of ${at.length} ${unit}, ${range}`;
}
