// @ts-check
import { readSafetensors } from "../safetensors.js";
import { h } from "./dom.js";
import { HeatMapControls } from "./heatmap-controls.js";
import { listen } from "./heatmap-gestures.js";
import { gridFrom, pictureSize } from "./heatmap-grid.js";
import { legend } from "./heatmap-legend.js";
import { frameOf, MARGIN, paint } from "./heatmap-paint.js";
import { readout, remarks } from "./heatmap-readout.js";
import { HeatMapState } from "./heatmap-state.js";
import { viewOf } from "./heatmap-views.js";

/**
 * @typedef {object} Wanted  what to fetch: a head, or a window of it
 * @property {number} b
 * @property {number} h
 * @property {string} [rows]     "first:last"
 * @property {string} [columns]
 */

/** Room for the picture: what a screen shows without scrolling the page. */
const LARGEST_HEIGHT = 512;

/** Finer cells are asked for when the picture has rested for this long. */
const REST_MS = 150;

/** @type {Record<string, number>} by how much a key zooms; 0 = show all */
const ZOOM_KEYS = { "+": 2, "=": 2, "-": 1 / 2, 0: 0 };

/**
 * One head of an output: |error| / allowed, the values, or their difference, with the kernel's
 * tiles. It can be zoomed; the text beside the picture says all that the colours say.
 */
export class HeatMap {
  /** @type {HeatMapState | null} */
  #state = null;
  #output = "";
  #size = { width: 1, height: 1 };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #resting;
  #onWanted;
  #controls = new HeatMapControls({
    onHead: (b, head) => this.#onWanted({ b, h: head }),
    onLook: () => this.#paint(),
    onZoom: (factor) => this.#zoom(factor, this.#middleOfChosen()),
  });
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
  #legend = h("figcaption", { class: "legend" });
  #message = h("p", { class: "hint" });

  element = h(
    "figure",
    { class: "heatmap" },
    this.#controls.element,
    this.#stage,
    this.#readout,
    this.#legend,
    this.#message,
  );

  /** @param {(wanted: Wanted) => void} onWanted asked for another head, or for a window of this */
  constructor(onWanted) {
    this.#onWanted = onWanted;
    listen(this.#canvas, this.#stage, {
      onTap: (x, y) => this.#tap(x - MARGIN.left, y - MARGIN.top),
      onDrag: (dx, dy) => this.#drag(dx, dy),
      onZoom: (factor, x, y) => this.#zoom(factor, this.#across(x - MARGIN.left, y - MARGIN.top)),
    });
    this.#stage.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#paint()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
  }

  /** The head on show, null without one. */
  get head() {
    return this.#state && { b: this.#state.head.b, h: this.#state.head.h };
  }

  /**
   * @param {string} output
   * @param {ArrayBuffer} file
   */
  show(output, file) {
    const grid = gridFrom(readSafetensors(file));
    const { b, h: head, rows, cellRows, columns, cellColumns } = grid;
    const all = rows * cellRows >= grid.allRows && columns * cellColumns >= grid.allColumns;
    if (all || !this.#state) this.#state = new HeatMapState(grid);
    else this.#state.refine(grid);
    this.#output = output;
    this.#controls.show(grid);
    this.#stage.setAttribute(
      "aria-label",
      `${output}, batch ${b}, head ${head}: arrow keys move, with Shift by a tile, Home goes to ` +
        "the worst, plus and minus zoom, 0 shows all",
    );
    this.#paint();
  }

  /**
   * Goes close to an element of the head on show.
   *
   * @param {number} row     along the first axis of the head
   * @param {number} column  along its second, 0 if it has none
   */
  goTo(row, column) {
    this.#state?.goTo(row, column);
    this.#moved();
    this.#cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** @param {unknown} error why there is nothing to show */
  fail(error) {
    this.#state = null;
    this.#cursor.hidden = true;
    this.#readout.textContent = "";
    this.#message.textContent = `No heat map: ${error instanceof Error ? error.message : error}`;
    this.#canvas.width = 1;
    this.#canvas.height = 1;
  }

  #paint() {
    const room = this.element.clientWidth - MARGIN.left - MARGIN.right;
    if (!this.#state || room <= 0) return;
    const { head, grid, viewport, isWhole } = this.#state;
    const { width, height } = pictureSize(head, room, LARGEST_HEIGHT);
    // A whole head may be wider than its room, and scrolls; a part of it has no reason to.
    this.#size = { width: isWhole ? width : Math.min(width, room), height };
    const view = viewOf(this.#controls.view, head)(grid);
    const tiles = this.#controls.tiles && !grid.sampled;
    paint(this.#canvas, grid, view, viewport, this.#size, tiles);
    this.#stage.classList.toggle("stage-zoomed", !isWhole);
    this.#legend.replaceChildren(...legend(this.#controls.view, view));
    this.#message.textContent = remarks(grid).join(" ");
    this.#read();
  }

  /** Paints what has moved, and asks for finer cells once it rests. */
  #moved() {
    this.#paint();
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      const window = this.#state?.wanted();
      if (window && this.head) this.#onWanted({ ...this.head, ...window });
    }, REST_MS);
  }

  /**
   * @param {number} factor  0 = show all
   * @param {{x: number, y: number}} point  0 to 1 across the picture
   */
  #zoom(factor, point) {
    this.#state?.zoom(factor, point);
    this.#moved();
  }

  /**
   * @param {number} dx  CSS pixels
   * @param {number} dy
   */
  #drag(dx, dy) {
    if (!this.#state || this.#state.isWhole) return;
    this.#state.pan(-dy / this.#size.height, -dx / this.#size.width);
    this.#moved();
  }

  /**
   * @param {number} x  CSS pixels of the picture
   * @param {number} y
   */
  #tap(x, y) {
    this.#stage.focus({ preventScroll: true });
    if (!this.#state) return;
    const { grid, viewport } = this.#state;
    const cell = frameOf(grid, viewport, this.#size).cell(x, y);
    if (cell === null) return;
    this.#state.choose(grid, cell);
    this.#read();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!this.#state || event.ctrlKey || event.metaKey || event.altKey) return;
    const zoom = ZOOM_KEYS[event.key];
    if (zoom !== undefined) this.#zoom(zoom, this.#middleOfChosen());
    else if (!this.#state.key(event)) return;
    else this.#moved();
    event.preventDefault();
    this.#cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /**
   * @param {number} x  CSS pixels of the picture
   * @param {number} y
   */
  #across(x, y) {
    return { x: x / this.#size.width, y: y / this.#size.height };
  }

  #middleOfChosen() {
    const box = this.#box();
    if (!box) return { x: 0.5, y: 0.5 };
    return this.#across(box.x + box.width / 2, box.y + box.height / 2);
  }

  /** The chosen cell in the picture, null when it is outside. */
  #box() {
    if (!this.#state || this.#state.cell < 0) return null;
    const { grid, viewport, cell } = this.#state;
    const frame = frameOf(grid, viewport, this.#size);
    const [x, y] = [frame.x(cell % grid.columns), frame.y(Math.floor(cell / grid.columns))];
    const [width, height] = [frame.cellWidth, frame.cellHeight];
    const seen = x + width > 0 && y + height > 0 && x < this.#size.width && y < this.#size.height;
    return seen ? { x, y, width, height } : null;
  }

  /** Says what the chosen cell holds, and frames it. */
  #read() {
    if (!this.#state) return;
    const { grid, cell } = this.#state;
    if (cell >= 0) this.#readout.replaceChildren(...readout(this.#output, grid, cell));
    const box = this.#box();
    this.#cursor.hidden = !box;
    if (!box) return;
    const { style } = this.#cursor;
    const [left, top] = [Math.max(box.x, 0), Math.max(box.y, 0)];
    style.left = `${MARGIN.left + left}px`;
    style.top = `${MARGIN.top + top}px`;
    style.width = `${Math.min(box.x + box.width, this.#size.width) - left}px`;
    style.height = `${Math.min(box.y + box.height, this.#size.height) - top}px`;
  }
}
