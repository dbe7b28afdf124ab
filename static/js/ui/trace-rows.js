// @ts-check
import { formatRatio, formatValue, toNumber } from "../format.js";
import { symbol } from "../trace-view.js";
import { h } from "./dom.js";

/** Digits that people compare; the files have all. */
const SHOWN = 7;

/** @typedef {import("../trace-view.js").Step} Step */
/** @typedef {import("../trace-view.js").Trace} Trace */

/**
 * What a step has one of for each row, the kernel's number beside float64's.
 *
 * @param {Trace} trace
 * @param {Step} step
 * @returns {HTMLElement}
 */
export function rowTable(trace, step) {
  const names = Object.keys(step.rows);
  const [first, end] = trace.rows;
  const groups = names.map((name) =>
    h("th", { scope: "colgroup", colspan: 3, class: "trace-group" }, symbol(name)),
  );
  const heads = names.flatMap(() => [
    h("th", { scope: "col", class: "number trace-group" }, "kernel"),
    h("th", { scope: "col", class: "number" }, "float64"),
    h("th", { scope: "col", class: "number" }, "error / allowed"),
  ]);
  const rows = Array.from({ length: end - first }, (_, r) => {
    const cells = names.flatMap((name) => cellsOf(step.rows[name], r));
    return h("tr", {}, h("th", { scope: "row", class: "number" }, String(first + r)), ...cells);
  });
  return h(
    "div",
    {
      class: "scroll-both trace-table",
      tabindex: 0,
      role: "region",
      "aria-label": `Rows after ${step.title}`,
    },
    h(
      "table",
      { class: "wide" },
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col", class: "number", rowspan: 2 }, "Row"), ...groups),
        h("tr", {}, ...heads),
      ),
      h("tbody", {}, ...rows),
    ),
  );
}

/**
 * @param {import("../trace-view.js").Rows} rows
 * @param {number} r
 */
function cellsOf({ actual, expected, ratio }, r) {
  const number = toNumber(ratio[r]);
  const bad = number === null || number > 1;
  const status = bad && ratio[r] !== "NaN" ? "fail" : null;
  const mark = status ? "✗ " : "";
  return [
    h("td", { class: "number trace-group", "data-status": status }, told(actual[r])),
    h("td", { class: "number" }, told(expected[r])),
    h("td", { class: "number", "data-status": status }, `${mark}${ratioText(ratio[r])}`),
  ];
}

/** @param {import("../format.js").Number_} value */
function told(value) {
  if (value === "-inf") return "no key";
  if (typeof value !== "number") return value ?? "not told";
  return formatValue(Number(value.toPrecision(SHOWN)));
}

/** @param {import("../format.js").Number_} ratio */
const ratioText = (ratio) => (ratio === "NaN" ? "unknown" : formatRatio(ratio));
