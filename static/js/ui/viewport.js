// @ts-check

/**
 * The part of a head that a heat map shows, in elements. It never leaves the head, and never
 * shows fewer than a few elements.
 *
 * @typedef {object} Viewport
 * @property {number} top
 * @property {number} left
 * @property {number} rows
 * @property {number} columns
 */

/** @typedef {{allRows: number, allColumns: number}} Head */

/** Elements a side that remain when one has come as close as one can. */
const FEWEST = 4;

/**
 * @param {Head} head
 * @returns {Viewport}
 */
export function whole({ allRows, allColumns }) {
  return { top: 0, left: 0, rows: allRows, columns: allColumns };
}

/**
 * @param {Viewport} view
 * @param {Head} head
 */
export function isWhole(view, head) {
  return view.rows >= head.allRows && view.columns >= head.allColumns;
}

/**
 * Closer (factor > 1) or further, so that what is at the point stays where it is.
 *
 * @param {Viewport} view
 * @param {Head} head
 * @param {number} factor
 * @param {{x: number, y: number}} point  0 to 1 across the picture
 * @returns {Viewport}
 */
export function zoomed(view, head, factor, { x, y }) {
  const size = (/** @type {number} */ now, /** @type {number} */ all) =>
    Math.min(Math.max(now / factor, Math.min(FEWEST, all)), all);
  const rows = size(view.rows, head.allRows);
  const columns = size(view.columns, head.allColumns);
  const top = view.top + y * (view.rows - rows);
  const left = view.left + x * (view.columns - columns);
  return clamped({ top, left, rows, columns }, head);
}

/**
 * @param {Viewport} view
 * @param {Head} head
 * @param {number} down  elements
 * @param {number} right
 */
export function panned(view, head, down, right) {
  return clamped({ ...view, top: view.top + down, left: view.left + right }, head);
}

/**
 * Moved as little as needed to show an element with one on each side of it.
 *
 * @param {Viewport} view
 * @param {Head} head
 * @param {number} row
 * @param {number} column
 * @param {number} [cellRows]  elements that belong together
 * @param {number} [cellColumns]
 */
export function showing(view, head, row, column, cellRows = 1, cellColumns = 1) {
  const into = (
    /** @type {number} */ start,
    /** @type {number} */ size,
    /** @type {number} */ at,
    /** @type {number} */ cell,
  ) => Math.min(Math.max(start, at + cell - size), at);
  return clamped(
    {
      ...view,
      top: into(view.top, view.rows, row, cellRows),
      left: into(view.left, view.columns, column, cellColumns),
    },
    head,
  );
}

/**
 * The whole elements that a viewport touches, first and one past the last.
 *
 * @param {Viewport} view
 * @param {Head} head
 */
export function windowOf(view, head) {
  const span = (
    /** @type {number} */ start,
    /** @type {number} */ size,
    /** @type {number} */ all,
  ) =>
    /** @type {[number, number]} */ ([Math.floor(start), Math.min(Math.ceil(start + size), all)]);
  return {
    rows: span(view.top, view.rows, head.allRows),
    columns: span(view.left, view.columns, head.allColumns),
  };
}

/**
 * @param {Viewport} view
 * @param {Head} head
 * @returns {Viewport}
 */
function clamped({ top, left, rows, columns }, { allRows, allColumns }) {
  return {
    top: Math.min(Math.max(top, 0), allRows - rows),
    left: Math.min(Math.max(left, 0), allColumns - columns),
    rows,
    columns,
  };
}
