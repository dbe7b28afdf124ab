// @ts-check
import { formatRatio } from "../format.js";
import { h } from "../ui/dom.js";
import { commonFacts, factList, textList } from "./facts.js";

/** @typedef {import("./report.js").Kept} Kept */

/**
 * What came of a golden case, as server/golden_outcome.py tells it.
 *
 * @typedef {object} Outcome
 * @property {string} reason  the feature that a refused case needs, or the kind of an error
 * @property {Record<string, {worst_ratio: number | string, bad: number, problem: string | null}>} outputs
 */

/**
 * A golden check: each output's error, held against the tolerance of the set's file.
 *
 * @param {Kept} kept
 * @returns {(Node | null)[]}
 */
export function goldenParts(kept) {
  const { outputs, reason } = /** @type {Outcome} */ (/** @type {unknown} */ (kept.report));
  const set = kept.case.replace(/^golden:/, "").split("/")[0];
  return [
    Object.keys(outputs).length ? table(outputs) : null,
    factList([
      ...commonFacts(kept),
      [kept.status === "skip" ? "It needs" : "Reason", reason],
      ["Inputs", `those of the set ${set}; fa2 golden with its folder runs it again`],
      ["Shader SHA-256", kept.shader_sha256],
    ]),
    textList(kept),
  ];
}

/** What is wrong stands in the message above it. @param {Outcome["outputs"]} outputs */
function table(outputs) {
  const row = (/** @type {string} */ name) => {
    const { worst_ratio, bad, problem } = outputs[name];
    return h(
      "tr",
      { "data-status": problem ? "fail" : null },
      h("th", { scope: "row" }, name),
      h("td", { class: "number" }, formatRatio(worst_ratio)),
      h("td", { class: "number" }, String(bad)),
    );
  };
  const heads = ["Output", "Worst |error| / tolerance", "Wrong elements"];
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Errors of the outputs" },
    h(
      "table",
      { class: "figures" },
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...Object.keys(outputs).map(row)),
    ),
  );
}
