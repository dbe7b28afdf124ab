// @ts-check
import { formatRatio, toNumber } from "./format.js";

/** @typedef {import("./checks.js").Report} Report */

/**
 * What a person reads first about a check: what is wrong with its outputs, and where.
 *
 * @param {Report} report
 * @param {string[]} outputs  of the check
 * @returns {string}
 */
export function sentenceOf({ status, message, finding, outputs: all }, outputs) {
  if (status === "error" || status === "skip") return message.split("\n")[0];
  const judged = outputs.filter((output) => all[output]);
  const wrong = judged.filter((output) => all[output].where);
  if (finding && outputs.includes(finding.output) && finding.check !== "bounded") {
    return `${finding.output}: ${finding.sentence}`;
  }
  if (wrong.length)
    return wrong.map((output) => `${output}: wrong ${all[output].where}`).join("; ");
  const worst = Math.max(0, ...judged.map((output) => toNumber(all[output].worst_ratio) ?? 0));
  const right = `every element within its bound, at most ${formatRatio(worst)} of it`;
  if (status === "vacuous") return `${right}, but that proves nothing: the judge says why`;
  if (status === "fail" && finding) return `${right}; what is wrong lies in ${finding.output}`;
  return right;
}
