// @ts-check
import { cellByKey, cellOf, worstCell } from "./heatmap-grid.js";
import { isWhole, panned, showing, whole, windowOf, zoomed } from "./viewport.js";

/** @typedef {import("./heatmap-grid.js").Grid} Grid */

/**
 * What a heat map shows: a head, perhaps a window of it in finer cells, the part of it that is in
 * the picture, and the element that is chosen.
 */
export class HeatMapState {
  /** @type {Grid | null} a window of the head in finer cells */
  #fine = null;
  /** The element that is read out, in the tensor. */
  #chosen = { row: 0, column: 0 };

  /** @param {Grid} head all of it */
  constructor(head) {
    this.head = head;
    this.viewport = whole(head);
    this.choose(head, worstCell(head));
  }

  get isWhole() {
    return isWhole(this.viewport, this.head);
  }

  /** The finest grid that has all that is to be seen. */
  get grid() {
    const { head } = this;
    const fine = this.#fine;
    if (!fine) return head;
    const { rows, columns } = windowOf(this.viewport, head);
    const covers =
      fine.firstRow <= rows[0] &&
      fine.firstColumn <= columns[0] &&
      fine.firstRow + fine.rows * fine.cellRows >= rows[1] &&
      fine.firstColumn + fine.columns * fine.cellColumns >= columns[1];
    return covers ? fine : head;
  }

  /** The chosen cell of the grid on show, -1 if it is not in it. */
  get cell() {
    return cellOf(this.grid, this.#chosen.row, this.#chosen.column);
  }

  /** @param {Grid} window of the same head */
  refine(window) {
    this.#fine = window;
  }

  /**
   * The window to ask for in finer cells, null if what is there is as fine as can be.
   *
   * @returns {{rows: string, columns: string} | null}  in the head's own order of axes
   */
  wanted() {
    const { head, grid, viewport } = this;
    if (grid.cellRows * grid.cellColumns === 1 || this.isWhole) return null;
    const near =
      grid.rows * grid.cellRows < 2 * viewport.rows &&
      grid.columns * grid.cellColumns < 2 * viewport.columns;
    if (grid !== head && near) return null;
    const { rows, columns } = windowOf(viewport, head);
    const [down, across] = head.upright ? [rows, columns] : [columns, rows];
    return { rows: down.join(":"), columns: across.join(":") };
  }

  /**
   * @param {number} factor  0 = all of the head
   * @param {{x: number, y: number}} point  0 to 1 across the picture; it stays where it is
   */
  zoom(factor, point) {
    this.viewport =
      factor === 0 ? whole(this.head) : zoomed(this.viewport, this.head, factor, point);
  }

  /**
   * @param {number} down   parts of the picture
   * @param {number} right
   */
  pan(down, right) {
    const { rows, columns } = this.viewport;
    this.viewport = panned(this.viewport, this.head, down * rows, right * columns);
  }

  /**
   * @param {Grid} grid
   * @param {number} cell
   */
  choose(grid, cell) {
    this.#chosen = { row: grid.row[cell], column: grid.column[cell] };
  }

  /**
   * Chooses what a key leads to and brings it into the picture; false if it leads nowhere.
   *
   * @param {{key: string, shiftKey: boolean}} event
   */
  key(event) {
    if (event.key === "Home") {
      this.choose(this.head, worstCell(this.head));
    } else {
      const { grid, cell } = this;
      const to = cellByKey(grid, Math.max(cell, 0), event);
      if (to === null) return false;
      if (to !== cell || grid === this.head) this.choose(grid, to);
      else this.#leave(event);
    }
    this.#reveal();
    return true;
  }

  /**
   * Chooses an element and brings it close enough to stand for itself.
   *
   * @param {number} row     along the first axis of the head
   * @param {number} column  along its second, 0 if it has none
   */
  goTo(row, column) {
    const { head } = this;
    this.#chosen = head.upright ? { row, column } : { row: column, column: row };
    const size = Math.max(head.cellRows, head.cellColumns);
    if (size > 1 && this.isWhole) this.zoom(size, { x: 0.5, y: 0.5 });
    this.#reveal();
  }

  /**
   * Over the edge of a window, by cells of the whole head.
   *
   * @param {{key: string, shiftKey: boolean}} event
   */
  #leave(event) {
    const from = cellOf(this.head, this.#chosen.row, this.#chosen.column);
    const to = cellByKey(this.head, Math.max(from, 0), event);
    if (to !== null) this.choose(this.head, to);
  }

  /** Moves the picture until the chosen element is in it. */
  #reveal() {
    const { head } = this;
    const cell = cellOf(head, this.#chosen.row, this.#chosen.column);
    if (cell < 0) return;
    // Places in the head are not those in the tensor where only a sample was judged.
    const row = head.sampled ? Math.floor(cell / head.columns) * head.cellRows : this.#chosen.row;
    const column = head.sampled ? (cell % head.columns) * head.cellColumns : this.#chosen.column;
    this.viewport = showing(this.viewport, head, row, column);
  }
}
