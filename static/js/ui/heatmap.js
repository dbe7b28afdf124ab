// @ts-check
import { formatRatio, formatTolerance, formatValue } from "../format.js";
import { readSafetensors } from "../safetensors.js";
import { colourOf } from "./colormap.js";
import { h } from "./dom.js";
import { cellByKey, cellSize, gridFrom, worstCell } from "./heatmap-grid.js";
import { MARGIN, paint, stripes } from "./heatmap-paint.js";

/** @typedef {import("./heatmap-grid.js").Grid} Grid */

/** Room for the picture: what a screen shows without scrolling the page. */
const LARGEST_HEIGHT = 512;

/**
 * Where an output is wrong: |error| / allowed of one head, with the tiles of the kernel.
 *
 * Pointer, tap and arrow keys read a cell out; the text beside the picture says all that the
 * colours say.
 */
export class HeatMap {
  /** @type {Grid | null} */
  #grid = null;
  #cell = 0;
  #size = { width: 1, height: 1 };
  #canvas = h("canvas", { width: 1, height: 1 });
  #cursor = h("div", { class: "cursor", hidden: true });
  #stage = h(
    "div",
    {
      class: "stage",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heat map",
      "aria-describedby": "heatmap-readout",
    },
    this.#canvas,
    this.#cursor,
  );
  #readout = h("output", { class: "readout", id: "heatmap-readout" });
  #batch = h("select", { id: "heatmap-b" });
  #head = h("select", { id: "heatmap-h" });
  #tiles = h("input", { type: "checkbox", id: "heatmap-tiles", checked: true });
  #axes = h("span", { class: "term" });
  #message = h("p", { class: "hint" });

  /** @param {(b: number, h: number) => void} onHead asked for another head */
  constructor(onHead) {
    const choose = () => onHead(Number(this.#batch.value), Number(this.#head.value));
    this.#batch.addEventListener("change", choose);
    this.#head.addEventListener("change", choose);
    this.#tiles.addEventListener("change", () => this.#paint());
    for (const type of /** @type {const} */ (["pointermove", "pointerdown"])) {
      this.#canvas.addEventListener(type, (event) => this.#point(event));
    }
    this.#stage.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#paint()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
  }

  element = h(
    "figure",
    { class: "heatmap" },
    h(
      "div",
      { class: "heatmap-controls" },
      h("label", {}, "b ", this.#batch),
      h("label", {}, "h ", this.#head),
      h("label", {}, this.#tiles, " tile grid"),
      this.#axes,
    ),
    this.#stage,
    this.#readout,
    legend(),
    this.#message,
  );

  /**
   * @param {string} output
   * @param {ArrayBuffer} file
   */
  show(output, file) {
    const grid = gridFrom(readSafetensors(file));
    this.#grid = grid;
    this.output = output;
    count(this.#batch, grid.batches, grid.b);
    count(this.#head, grid.heads, grid.h);
    this.#stage.setAttribute(
      "aria-label",
      `|error| over allowed of ${output}, batch ${grid.b}, head ${grid.h}; arrow keys move, ` +
        "with Shift by a tile, Home goes to the worst",
    );
    this.#axes.textContent = [grid.rowAxis && `${grid.rowAxis} ↓`, `${grid.columnAxis} →`]
      .filter(Boolean)
      .join("  ");
    this.#message.textContent = remarks(grid).join(" ");
    this.#paint();
    this.#read(worstCell(grid));
  }

  /** @param {unknown} error why there is nothing to show */
  fail(error) {
    this.#grid = null;
    this.#cursor.hidden = true;
    this.#readout.textContent = "";
    this.#message.textContent = `No heat map: ${error instanceof Error ? error.message : error}`;
    this.#canvas.width = 1;
    this.#canvas.height = 1;
  }

  #paint() {
    const grid = this.#grid;
    const room = this.element.clientWidth - MARGIN.left - MARGIN.right;
    if (!grid || room <= 0) return;
    this.#size = cellSize(grid, room, LARGEST_HEIGHT);
    paint(this.#canvas, grid, this.#size, this.#tiles.checked && !grid.sampled);
    this.#place();
  }

  /** @param {PointerEvent} event */
  #point({ offsetX, offsetY }) {
    const grid = this.#grid;
    if (!grid) return;
    const column = Math.floor((offsetX - MARGIN.left) / this.#size.width);
    const row = Math.floor((offsetY - MARGIN.top) / this.#size.height);
    if (column < 0 || row < 0 || column >= grid.columns || row >= grid.rows) return;
    this.#read(row * grid.columns + column);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const to = this.#grid && cellByKey(this.#grid, this.#cell, event);
    if (to === null) return;
    event.preventDefault();
    this.#read(to);
    this.#cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {number} cell */
  #read(cell) {
    const grid = this.#grid;
    if (!grid) return;
    this.#cell = cell;
    this.#place();
    const { ratio, actual, expected, allowed } = grid;
    const field = (/** @type {string} */ term, /** @type {string} */ text) =>
      h("span", {}, h("span", { class: "term" }, `${term} `), text);
    this.#readout.replaceChildren(
      field(`${this.output}`, this.#index(grid, cell)),
      field("actual", formatValue(actual[cell])),
      field("expected", formatValue(expected[cell])),
      field("allowed", `±${formatTolerance(allowed[cell])}`),
      field(
        "|error|/allowed",
        `${formatRatio(ratio[cell])}${ratio[cell] <= 1 ? "" : "  over the limit"}`,
      ),
    );
  }

  /**
   * @param {Grid} grid
   * @param {number} cell
   */
  #index({ b, h: head, row, column, rowAxis, columnAxis, rowTile, columnTile, ...grid }, cell) {
    const parts = [`b ${b}`, `h ${head}`];
    const tiles = [];
    if (rowAxis) parts.push(`${rowAxis} ${row[cell]}`);
    if (columnAxis) parts.push(`${columnAxis} ${column[cell]}`);
    if (rowTile) tiles.push(Math.floor(row[cell] / (rowTile * grid.cellRows)));
    if (columnTile) tiles.push(Math.floor(column[cell] / (columnTile * grid.cellColumns)));
    return parts.join(", ") + (tiles.length ? ` (tile ${tiles.join(", ")})` : "");
  }

  /** Puts the frame around the cell that is read out. */
  #place() {
    if (!this.#grid) return;
    const { width, height } = this.#size;
    const { columns } = this.#grid;
    this.#cursor.hidden = false;
    const { style } = this.#cursor;
    style.left = `${MARGIN.left + (this.#cell % columns) * width}px`;
    style.top = `${MARGIN.top + Math.floor(this.#cell / columns) * height}px`;
    style.width = `${width}px`;
    style.height = `${height}px`;
  }
}

/**
 * What the picture does not show by itself.
 *
 * @param {Grid} grid
 */
function remarks({ cellRows, cellColumns, sampled }) {
  const said = ["Point, tap or use the arrow keys; Shift goes by tiles, Home to the worst."];
  if (cellRows * cellColumns > 1) {
    said.push(`A cell is the worst of ${cellRows} × ${cellColumns} elements.`);
  }
  if (sampled) said.push("Only the rows and keys that were judged are shown, without gaps.");
  return said;
}

/**
 * @param {HTMLSelectElement} select
 * @param {number} options
 * @param {number} chosen
 */
function count(select, options, chosen) {
  if (select.options.length !== options) {
    select.replaceChildren(
      ...Array.from({ length: options }, (_, n) => h("option", {}, String(n))),
    );
  }
  select.value = String(chosen);
  select.disabled = options === 1;
}

/** The colours in words. */
function legend() {
  const samples = /** @type {[string, number][]} */ ([
    ["≤ 0.001", 1e-3],
    ["0.01", 1e-2],
    ["0.1", 1e-1],
    ["1", 1],
    ["> 1", 1.01],
    ["10", 10],
    ["≥ 1000", 1e3],
    ["NaN", NaN],
  ]);
  return h(
    "figcaption",
    { class: "legend" },
    h("span", { class: "term" }, "|error| / allowed"),
    ...samples.map(([text, ratio]) => h("span", { class: "sample" }, swatch(ratio), text)),
  );
}

/** @param {number} ratio */
function swatch(ratio) {
  const canvas = h("canvas", { width: 18, height: 12, "aria-hidden": "true" });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.fillStyle = `rgb(${colourOf(ratio).join(" ")})`;
  context.fillRect(0, 0, 18, 12);
  if (!(ratio <= 1)) {
    context.fillStyle = stripes(context, Number.isNaN(ratio) ? 2 : 1);
    context.fillRect(0, 0, 18, 12);
  }
  return canvas;
}
