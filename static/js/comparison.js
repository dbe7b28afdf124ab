// @ts-check
import { formatRatio, formatTolerance, toNumber } from "./format.js";

/** Two kernels on one case, from the server's words to what is shown of them. */

/** @typedef {import("./checks.js").Report} Report */
/** @typedef {import("./format.js").Number_} Number_ */
/** @typedef {import("./compare-session.js").Comparison} Comparison */
/** @typedef {import("./bench-session.js").BenchReport} BenchReport */

/**
 * @typedef {object} Difference of an output: GET /api/compare
 * @property {number} total
 * @property {number} differ   elements whose bits are not the same
 * @property {boolean} bit_equal
 * @property {Number_} max_abs
 * @property {Number_} max_ulp
 * @property {number} apart    NaN or infinite in one alone
 * @property {number[] | null} index  of the element that is furthest off
 *
 * @typedef {object} Row what a line of the table says
 * @property {string} name
 * @property {string} a
 * @property {string} b
 * @property {string} factor
 * @property {string} bad
 * @property {string} maxAbs
 * @property {string} ulp
 * @property {string} differ
 *
 * @typedef {object} Span
 * @property {number} low
 * @property {number} median
 * @property {number} high
 */

/**
 * @param {Report | null} a
 * @param {Report | null} b
 * @param {Record<string, Difference>} outputs
 * @returns {Row[]}
 */
export function rowsOf(a, b, outputs) {
  const names = new Set([...Object.keys(a?.outputs ?? {}), ...Object.keys(b?.outputs ?? {})]);
  return [...names].map((name) => {
    const [one, other] = [a?.outputs[name], b?.outputs[name]];
    const ratios = [one, other].map((output) => toNumber(output?.worst_ratio));
    const apart = outputs[name];
    return {
      name,
      a: formatRatio(ratios[0]),
      b: formatRatio(ratios[1]),
      factor: formatFactor(ratios[0], ratios[1]),
      bad: `${one?.bad ?? "–"}, ${other?.bad ?? "–"}`,
      ...differenceTexts(apart),
    };
  });
}

/** @param {Difference | undefined} apart */
function differenceTexts(apart) {
  if (!apart) return { maxAbs: "–", ulp: "–", differ: "–" };
  if (apart.bit_equal) return { maxAbs: "0", ulp: "0", differ: "none: bit-equal" };
  const special = apart.apart ? `, ${apart.apart} NaN or inf in one` : "";
  return {
    maxAbs: formatTolerance(apart.max_abs),
    ulp: formatTolerance(apart.max_ulp),
    differ: `${apart.differ} of ${apart.total}${special}`,
  };
}

/**
 * @param {number | null} a
 * @param {number | null} b
 */
function formatFactor(a, b) {
  if (a === null || b === null || !(b > 0) || !Number.isFinite(a / b)) return "–";
  return threeDigits(a / b);
}

/**
 * Of all rounds: the lowest 20 %, the mean of the medians, the highest 80 %; null if nothing was
 * timed.
 *
 * @param {readonly BenchReport[]} benches
 * @returns {Span | null}
 */
export function spanOf(benches) {
  const timed = benches.filter(({ status, median_ns }) => status === "timed" && median_ns);
  if (!timed.length) return null;
  const all = (/** @type {"p20_ns" | "median_ns" | "p80_ns"} */ key) =>
    timed.map((one) => Number(one[key]));
  return {
    low: Math.min(...all("p20_ns")),
    median: all("median_ns").reduce((sum, ns) => sum + ns, 0) / timed.length,
    high: Math.max(...all("p80_ns")),
  };
}

/**
 * A's time over B's, and what the samples of both leave open.
 *
 * @param {Span | null} a
 * @param {Span | null} b
 * @returns {Span | null}
 */
export function timeRatio(a, b) {
  if (!a || !b) return null;
  return { low: a.low / b.high, median: a.median / b.median, high: a.high / b.low };
}

/** @param {Span | null} ratio */
export function formatSpan(ratio) {
  if (!ratio) return "–";
  return `${threeDigits(ratio.median)} (${threeDigits(ratio.low)} to ${threeDigits(ratio.high)})`;
}

/** @param {number} x */
export function threeDigits(x) {
  return String(Number(x.toPrecision(3)));
}

/**
 * Whether both sides ran the same kernel and text, whatever they are called. The digest of a
 * backward does not cover the forward before it, which may have been edited.
 *
 * @param {Pick<Comparison, "case" | "sides">} shown
 */
export function isSame({ case: id, sides }) {
  const [a, b] = sides.map(({ report }) => report);
  if (!a?.shader_sha256 || a.shader_sha256 !== b?.shader_sha256 || a.kernel !== b.kernel)
    return false;
  return id.startsWith("forward:") || ![a, b].some(({ edited }) => edited?.length);
}

/** What came of it, in a sentence or two. @param {Comparison} shown */
export function sentenceOf(shown) {
  if (shown.doing) return `Running: ${shown.doing}.`;
  if (shown.problem) return `Ended early: ${shown.problem}`;
  const [a, b] = shown.sides;
  const parts = [];
  if (isSame(shown))
    parts.push(
      `Both sides are the same kernel and text (${a.report?.kernel}): ` +
        "times differ by the noise of timing alone",
    );
  const outputs = Object.values(shown.outputs);
  if (shown.apart) parts.push(shown.apart);
  else if (outputs.length && outputs.every((one) => one.bit_equal))
    parts.push("The results are bit-equal");
  const ratio = timeRatio(spanOf(a.benches), spanOf(b.benches));
  if (ratio) parts.push(`A takes ${threeDigits(ratio.median)} times as long as B`);
  const wrong = [a, b].flatMap((side, n) => (side.report?.status === "pass" ? [] : "AB"[n]));
  if (wrong.length)
    parts.push(`${wrong.join(" and ")} ${wrong.length > 1 ? "are" : "is"} not right`);
  return `${shown.case}: ${parts.length ? parts.join(". ") : "both are right"}.`;
}
