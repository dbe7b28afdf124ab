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
  if (wrong.length) return together(wrong.map((output) => [output, all[output].where]));
  const worst = Math.max(0, ...judged.map((output) => toNumber(all[output].worst_ratio) ?? 0));
  const right = `every element within its bound, at most ${formatRatio(worst)} of it`;
  if (status === "vacuous") return `${right}, but that proves nothing: the judge says why`;
  if (status === "fail" && finding) return `${right}; what is wrong lies in ${finding.output}`;
  return right;
}

/**
 * "o and lse are wrong in odd heads": outputs that are wrong in the same places share a sentence.
 *
 * @param {[output: string, where: string][]} wrong
 */
function together(wrong) {
  /** @type {Map<string, string[]>} */
  const byPlace = new Map();
  for (const [output, where] of wrong) {
    const place = where
      .replace(/^all with /, "where ")
      .replace(/^all /, "")
      .replace(/^scattered, without a simple pattern: /, "here and there: ");
    byPlace.set(place, [...(byPlace.get(place) ?? []), output]);
  }
  return [...byPlace]
    .map(
      ([place, outputs]) =>
        `${outputs.join(" and ")} ${outputs.length > 1 ? "are" : "is"} wrong ${place}`,
    )
    .join("; ");
}
