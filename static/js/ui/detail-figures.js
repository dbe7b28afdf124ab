// @ts-check
import { AXES } from "../checks.js";
import { formatDuration, formatRatio, formatTolerance, formatValue } from "../format.js";
import { h } from "./dom.js";

/** @typedef {import("../checks.js").Report} Report */

const HEADS = [
  "Output",
  "Worst",
  "Over limit",
  "NaN, inf",
  "Worst at",
  "Actual",
  "Expected",
  "Allowed",
];

/**
 * The numbers of the outputs, a row each.
 *
 * @param {Report} report
 * @param {string[]} outputs
 */
export function figures(report, outputs) {
  const row = (/** @type {string} */ output) => {
    const { worst_ratio, worst, bad, total, nan, inf } = report.outputs[output];
    const cells = [
      formatRatio(worst_ratio),
      `${bad} / ${total}`,
      `${nan}, ${inf}`,
      worst ? worst.index.map((n, axis) => `${AXES[output][axis]}=${n}`).join(" ") : "–",
      formatValue(worst?.actual),
      formatValue(worst?.expected),
      worst ? `±${formatTolerance(worst.allowed)}` : "–",
    ];
    return h(
      "tr",
      { "data-status": bad > 0 ? "fail" : null },
      h("th", { scope: "row" }, output),
      ...cells.map((text) => h("td", { class: "number" }, text)),
    );
  };
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Figures of the outputs" },
    h(
      "table",
      { class: "figures" },
      h("thead", {}, h("tr", {}, ...HEADS.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...outputs.map(row)),
    ),
  );
}

/**
 * What the run was made of, the same for all its outputs.
 *
 * @param {Report} report
 */
export function circumstances(report) {
  const facts = /** @type {[string, string][]} */ ([
    ["Kernel", report.kernel],
    ["Time on the page", formatDuration(report.elapsed_ns)],
    ["Compiled in", formatDuration(report.compile_ns)],
    ["First result after", formatDuration(report.first_result_ns)],
    ["κ", String(report.kappa)],
    ["Inputs SHA-256", report.input_sha256],
    ["Shader SHA-256", report.shader_sha256],
    ...Object.entries(report.controls).map(([name, result]) => [`Control ${name}`, said(result)]),
    ...report.warnings.map((warning) => ["Warning", warning]),
  ]).filter(([, text]) => text);
  return h("details", { class: "circumstances" }, h("summary", {}, "Circumstances"), list(facts));
}

/** @param {[string, string][]} facts */
function list(facts) {
  return h(
    "dl",
    { class: "facts" },
    ...facts.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))),
  );
}

/**
 * What a negative control showed: a wrong answer that the bounds must tell from the right one.
 *
 * @param {Report["controls"][string]} control
 */
function said({ changes, caught, ratio }) {
  if (!changes) return "changes nothing in this case";
  return `${caught ? "caught" : "NOT caught"}, ${formatRatio(ratio)} times the bound`;
}
