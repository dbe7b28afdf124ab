// @ts-check
import { formatRatio, formatValue } from "../format.js";
import { colourOf, diverging, NO_NUMBER } from "./colormap.js";
import { h } from "./dom.js";
import { pattern } from "./heatmap-paint.js";

/** @typedef {import("../trace-view.js").Step} Step */
/** @typedef {import("../safetensors.js").Elements} Elements */

/**
 * @typedef {object} Matrix one quantity of a step
 * @property {string} name
 * @property {number} rows
 * @property {number} columns
 * @property {number} row0     number of the first row
 * @property {number} column0  number of the first key or channel
 * @property {string} across   what the columns are
 * @property {Record<"actual" | "expected" | "ratio", Elements>} planes
 */

/** CSS pixels of a cell, which is never scaled: that would lose the hatching. */
const CELL = { least: 3, most: 13 };
/** Three pictures of this width stand side by side on a phone. */
const WIDTH = 104;

const VIEWS = /** @type {const} */ ([
  ["actual", "kernel"],
  ["expected", "float64"],
  ["ratio", "error / allowed"],
]);

/**
 * A quantity as three pictures: the kernel's, float64's and the error. Pointing at a cell, or moving
 * there with the arrows, reads its numbers.
 *
 * @param {Matrix} matrix
 * @returns {HTMLElement}
 */
export function matrixFigure(matrix) {
  const { name, rows, columns } = matrix;
  const readout = h("output", { class: "trace-readout" }, hintOf(matrix));
  const most = largest(matrix.planes.expected);
  const pictures = VIEWS.map(([plane, title]) => {
    const label = `${name}, ${title}: ${rows} rows by ${columns} ${matrix.across}s`;
    const canvas = h("canvas", { role: "img", "aria-label": label, tabindex: 0 });
    draw(canvas, matrix, plane, most);
    follow(canvas, matrix, (n) => {
      readout.textContent = readOut(matrix, n);
    });
    return h("figure", {}, h("figcaption", {}, title), canvas);
  });
  return h(
    "div",
    { class: "trace-matrix" },
    h("h3", {}, name === "O" ? "partial O" : name),
    h("div", { class: "trace-pictures" }, ...pictures),
    readout,
  );
}

/** @param {Matrix} matrix */
const cellSize = ({ columns }) =>
  Math.max(CELL.least, Math.min(CELL.most, Math.floor(WIDTH / columns)));

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Matrix} matrix
 * @param {"actual" | "expected" | "ratio"} plane
 * @param {number} most  the largest |expected|: its colour is the end of the scale
 */
function draw(canvas, matrix, plane, most) {
  const { rows, columns, planes } = matrix;
  const size = cellSize(matrix);
  canvas.width = columns * size;
  canvas.height = rows * size;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const over = new Path2D();
  const none = new Path2D();
  for (let n = 0; n < rows * columns; n++) {
    const [x, y] = [(n % columns) * size, Math.floor(n / columns) * size];
    const value = planes[plane][n];
    context.fillStyle = `rgb(${colour(plane, value, most).join(" ")})`;
    context.fillRect(x, y, size, size);
    if (planes.ratio[n] > 1) over.rect(x, y, size, size);
    if (Number.isNaN(value)) none.rect(x, y, size, size);
  }
  if (plane !== "expected") {
    context.fillStyle = pattern(context, "over");
    context.fill(over);
  }
  context.fillStyle = pattern(context, "nan");
  context.fill(none);
}

/** What is masked. @type {import("./colormap.js").Rgb} */
const MASKED = [128, 128, 128];

/** @param {string} plane @param {number} value @param {number} most */
function colour(plane, value, most) {
  if (Number.isNaN(value)) return NO_NUMBER;
  if (plane === "ratio") return colourOf(value);
  return value === -Infinity ? MASKED : diverging(value / most);
}

/** @param {Elements} values */
function largest(values) {
  let most = 0;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most || 1;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Matrix} matrix
 * @param {(n: number) => void} read
 */
function follow(canvas, { rows, columns }, read) {
  let at = 0;
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const column = Math.floor((offsetX / canvas.clientWidth) * columns);
    const row = Math.floor((offsetY / canvas.clientHeight) * rows);
    if (row < 0 || column < 0 || row >= rows || column >= columns) return;
    at = row * columns + column;
    read(at);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    if (at + step >= 0 && at + step < rows * columns) at += step;
    read(at);
  });
  canvas.addEventListener("focus", () => read(at));
}

/** @param {Matrix} matrix @param {number} n */
function readOut({ planes, columns, row0, column0, across }, n) {
  const [row, column] = [row0 + Math.floor(n / columns), column0 + (n % columns)];
  const [kernel, truth] = [planes.actual[n], planes.expected[n]].map(valueText);
  const ratio = planes.ratio[n];
  const error = Number.isNaN(ratio) ? "unknown" : formatRatio(ratio);
  return `row ${row}, ${across} ${column}: kernel ${kernel}, float64 ${truth}, error / allowed ${error}`;
}

/** @param {number} value */
function valueText(value) {
  if (value === -Infinity) return "masked";
  return Number.isNaN(value) ? "not told" : formatValue(value);
}

/** @param {Matrix} matrix */
const hintOf = ({ across }) => `Rows go down, ${across}s across. Point at a cell.`;

/** What the colours mean, once for all pictures. */
export const LEGEND =
  "Blue: below zero, orange: above; grey: masked; hatched: beyond its bound; crosses: not told.";
