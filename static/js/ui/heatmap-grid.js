// @ts-check

/**
 * The numbers behind a heat map: what the judge sent, and where a cell lies on the screen.
 *
 * @typedef {object} Grid
 * @property {number} rows
 * @property {number} columns
 * @property {Float32Array} ratio     |error| / allowed of each cell, NaN where no number
 * @property {Float32Array} actual    of the element that is worst in its cell, like those below
 * @property {Float64Array} expected
 * @property {Float64Array} allowed
 * @property {Uint32Array} row        of that element, in the tensor
 * @property {Uint32Array} column
 * @property {number} rowTile         tile height in cells, 0 = no tiles this way
 * @property {number} columnTile
 * @property {string} rowAxis         what a row is: "query", "key"
 * @property {string} columnAxis      what a column is: "channel", "key"; "" for a vector
 * @property {number} b
 * @property {number} h
 * @property {number} batches
 * @property {number} heads
 * @property {number} cellRows        elements that one cell stands for, downwards
 * @property {number} cellColumns
 * @property {boolean} sampled  only some rows or keys were judged: neighbours need not be adjacent
 */

/** Largest edge of a cell in CSS pixels, and how far its sides may differ. */
const LARGEST_CELL = 22;
const LARGEST_ASPECT = 6;

/**
 * @param {ReturnType<typeof import("../safetensors.js").readSafetensors>} file
 * @returns {Grid}
 */
export function gridFrom({ metadata, tensors }) {
  const number = (/** @type {string} */ key) => Number(metadata[key]);
  const cellRows = number("cell_rows");
  const cellColumns = number("cell_columns");
  const grid = {
    rows: number("rows"),
    columns: number("columns"),
    ratio: /** @type {Float32Array} */ (tensors.ratio),
    actual: /** @type {Float32Array} */ (tensors.actual),
    expected: /** @type {Float64Array} */ (tensors.expected),
    allowed: /** @type {Float64Array} */ (tensors.allowed),
    row: /** @type {Uint32Array} */ (tensors.row),
    column: /** @type {Uint32Array} */ (tensors.column),
    rowTile: number("row_tile") / cellRows,
    columnTile: number("column_tile") / cellColumns,
    rowAxis: metadata.row_axis,
    columnAxis: metadata.column_axis,
    b: number("b"),
    h: number("h"),
    batches: number("batches"),
    heads: number("heads"),
    cellRows,
    cellColumns,
    sampled: metadata.sampled === "1",
  };
  return grid.columns === 1 ? transposed(grid) : grid;
}

/**
 * A column (lse has one value a row) lies down, where there is room for it.
 *
 * @param {Grid} grid
 * @returns {Grid}
 */
function transposed(grid) {
  return {
    ...grid,
    rows: grid.columns,
    columns: grid.rows,
    rowTile: grid.columnTile,
    columnTile: grid.rowTile,
    rowAxis: "",
    columnAxis: grid.rowAxis,
    row: grid.column,
    column: grid.row,
  };
}

/**
 * Cell edges in whole CSS pixels, so that every cell is seen: as large as the room allows, but at
 * least one pixel (a picture wider than its room scrolls).
 *
 * @param {{rows: number, columns: number}} grid
 * @param {number} width  room in CSS pixels
 * @param {number} height
 */
export function cellSize({ rows, columns }, width, height) {
  const fit = (/** @type {number} */ room, /** @type {number} */ count) =>
    Math.min(Math.max(Math.floor(room / count), 1), LARGEST_CELL);
  const w = fit(width, columns);
  const h = fit(height, rows);
  return {
    width: Math.min(w, h * LARGEST_ASPECT),
    height: rows === 1 ? LARGEST_CELL : Math.min(h, w * LARGEST_ASPECT),
  };
}

/**
 * The cell to look at first: the worst one, no number being worse than any.
 *
 * @param {{ratio: Float32Array}} grid
 */
export function worstCell({ ratio }) {
  let worst = 0;
  for (let n = 0; n < ratio.length; n++) {
    if (Number.isNaN(ratio[n])) return n;
    if (ratio[n] > ratio[worst]) worst = n;
  }
  return worst;
}

/**
 * The cell that a key leads to, or null if the key means nothing here. With Shift, arrows go by
 * tiles; Home returns to the worst cell.
 *
 * @param {Grid} grid
 * @param {number} cell
 * @param {{key: string, shiftKey: boolean}} event
 */
export function cellByKey(grid, cell, { key, shiftKey }) {
  const { rows, columns, rowTile, columnTile } = grid;
  const step = (/** @type {number} */ tile) => (shiftKey ? Math.max(Math.round(tile), 1) : 1);
  const clamp = (/** @type {number} */ n, /** @type {number} */ count) =>
    Math.min(Math.max(n, 0), count - 1);
  let row = Math.floor(cell / columns);
  let column = cell % columns;
  if (key === "Home") return worstCell(grid);
  if (key === "ArrowUp") row -= step(rowTile);
  else if (key === "ArrowDown") row += step(rowTile);
  else if (key === "ArrowLeft") column -= step(columnTile);
  else if (key === "ArrowRight") column += step(columnTile);
  else return null;
  return clamp(row, rows) * columns + clamp(column, columns);
}
