// @ts-check
import { formatRatio, formatTolerance, formatValue } from "../format.js";
import { formatUlp } from "./anatomy-numbers.js";
import { h } from "./dom.js";

/** @typedef {import("./heatmap-grid.js").Grid} Grid */

/**
 * Everything about a cell, in words.
 *
 * @param {string} output
 * @param {Grid} grid
 * @param {number} cell
 */
export function readout(output, grid, cell) {
  const ratio = grid.ratio[cell];
  const [actual, expected] = [grid.actual[cell], grid.expected[cell]];
  return [
    field(output, indexText(grid, cell), "place"),
    field("actual", formatValue(actual)),
    field("expected", formatValue(expected)),
    field("error", formatTolerance(actual - expected)),
    field("allowed", `±${formatTolerance(grid.allowed[cell])}`),
    field("|error|/allowed", `${formatRatio(ratio)}${ratio <= 1 ? "" : "  over the limit"}`),
    field("ULP", formatUlp(grid.ulp[cell])),
  ];
}

/**
 * @param {string} term
 * @param {string} text
 * @param {string} [name]
 */
function field(term, text, name) {
  return h("span", { class: name ?? null }, h("span", { class: "term" }, `${term} `), text);
}

/**
 * @param {Grid} grid
 * @param {number} cell
 */
function indexText({ b, h: head, row, column, rowAxis, columnAxis, rowTile, columnTile }, cell) {
  const parts = [`b ${b}`, `h ${head}`];
  const tiles = [];
  if (rowAxis) parts.push(`${rowAxis} ${row[cell]}`);
  if (columnAxis) parts.push(`${columnAxis} ${column[cell]}`);
  if (rowTile) tiles.push(Math.floor(row[cell] / rowTile));
  if (columnTile) tiles.push(Math.floor(column[cell] / columnTile));
  return parts.join(", ") + (tiles.length ? ` (tile ${tiles.join(", ")})` : "");
}

/**
 * What the picture does not show by itself.
 *
 * @param {Grid} grid
 */
export function remarks({ cellRows, cellColumns, sampled }) {
  const said = [
    "Click, tap or use the arrow keys; Shift goes by tiles, Home to the worst. + and − zoom, 0 " +
      "shows all; the wheel zooms with Ctrl or once the picture is chosen.",
  ];
  if (cellRows * cellColumns > 1) {
    said.push(`A cell is the worst of ${cellRows} × ${cellColumns} elements; closer, of fewer.`);
  }
  if (sampled) said.push("Only the rows and keys that were judged are shown, without gaps.");
  return said;
}
