// @ts-check

/**
 * The numbers behind a heat map: what the judge sent of a head, or of a window of it.
 *
 * @typedef {object} Grid
 * @property {number} rows
 * @property {number} columns
 * @property {Float64Array} ratio     |error| / allowed of each cell, NaN where no number
 * @property {Float32Array} actual    of the element that is worst in its cell, like those below
 * @property {Float64Array} expected
 * @property {Float64Array} allowed
 * @property {Float64Array} ulp       steps between actual and expected; NaN, inf
 * @property {Uint32Array} row        of that element, in the tensor
 * @property {Uint32Array} column
 * @property {number} rowTile         tile height in elements, 0 = no tiles this way
 * @property {number} columnTile
 * @property {string} rowAxis         what a row is: "query", "key"
 * @property {string} columnAxis      what a column is: "channel", "key"; "" for a vector
 * @property {number} b
 * @property {number} h
 * @property {number} batches
 * @property {number} heads
 * @property {number} cellRows        elements that one cell stands for, downwards
 * @property {number} cellColumns
 * @property {number} firstRow        of the window, in elements of the head
 * @property {number} firstColumn
 * @property {number} allRows         of the head
 * @property {number} allColumns
 * @property {boolean} upright        rows are the axes' first; false: a vector that lies down
 * @property {boolean} sampled  only some rows or keys were judged: neighbours need not be adjacent
 */

/** Largest edge of a cell in CSS pixels, and how far its sides may differ. */
const LARGEST_CELL = 22;
const LARGEST_ASPECT = 6;

/** A picture of few columns may have wider cells until it is this wide. */
const NARROWEST = 176;

/** What the server sends at most each way. */
const MOST_CELLS = 512;

/**
 * @param {ReturnType<typeof import("../safetensors.js").readSafetensors>} file
 * @returns {Grid}
 */
export function gridFrom({ metadata, tensors }) {
  const number = (/** @type {string} */ key) => Number(metadata[key]);
  const grid = {
    rows: number("rows"),
    columns: number("columns"),
    ratio: /** @type {Float64Array} */ (tensors.ratio),
    actual: /** @type {Float32Array} */ (tensors.actual),
    expected: /** @type {Float64Array} */ (tensors.expected),
    allowed: /** @type {Float64Array} */ (tensors.allowed),
    ulp: /** @type {Float64Array} */ (tensors.ulp),
    row: /** @type {Uint32Array} */ (tensors.row),
    column: /** @type {Uint32Array} */ (tensors.column),
    rowTile: number("row_tile"),
    columnTile: number("column_tile"),
    rowAxis: metadata.row_axis,
    columnAxis: metadata.column_axis,
    b: number("b"),
    h: number("h"),
    batches: number("batches"),
    heads: number("heads"),
    cellRows: number("cell_rows"),
    cellColumns: number("cell_columns"),
    firstRow: number("first_row"),
    firstColumn: number("first_column"),
    allRows: number("all_rows"),
    allColumns: number("all_columns"),
    upright: true,
    sampled: metadata.sampled === "1",
  };
  return grid.allColumns === 1 ? transposed(grid) : grid;
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
    cellRows: grid.cellColumns,
    cellColumns: grid.cellRows,
    firstRow: grid.firstColumn,
    firstColumn: grid.firstRow,
    allRows: grid.allColumns,
    allColumns: grid.allRows,
    upright: false,
  };
}

/**
 * Room for a head in CSS pixels: whole pixels a cell, so that every cell is seen, as large as the
 * room allows, but at least one pixel (a picture wider than its room scrolls).
 *
 * @param {{allRows: number, allColumns: number}} head
 * @param {number} width  room in CSS pixels
 * @param {number} height
 */
export function pictureSize({ allRows, allColumns }, width, height) {
  const cells = (/** @type {number} */ all) => Math.ceil(all / Math.ceil(all / MOST_CELLS));
  const [rows, columns] = [cells(allRows), cells(allColumns)];
  const fit = (/** @type {number} */ room, /** @type {number} */ count) =>
    Math.min(Math.max(Math.floor(room / count), 1), LARGEST_CELL);
  const w = fit(width, columns);
  const h = fit(height, rows);
  return {
    width: columns * Math.min(w, Math.max(h * LARGEST_ASPECT, Math.ceil(NARROWEST / columns))),
    height: rows * (rows === 1 ? LARGEST_CELL : Math.min(h, w * LARGEST_ASPECT)),
  };
}

/**
 * The cell to look at first: the worst one, no number being worse than any.
 *
 * @param {{ratio: Float64Array}} grid
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
 * The cell that holds an element, -1 if the grid does not.
 *
 * @param {Grid} grid
 * @param {number} row     in the tensor
 * @param {number} column
 */
export function cellOf(grid, row, column) {
  const y = along(grid, row, grid.row, grid.columns, grid.rows, grid.firstRow, grid.cellRows);
  const x = along(grid, column, grid.column, 1, grid.columns, grid.firstColumn, grid.cellColumns);
  return y < 0 || x < 0 ? -1 : y * grid.columns + x;
}

/**
 * @param {Grid} grid
 * @param {number} wanted
 * @param {Uint32Array} coordinates of the cells
 * @param {number} stride from one cell to the next
 * @param {number} count
 * @param {number} first
 * @param {number} size of a cell in elements
 */
function along(grid, wanted, coordinates, stride, count, first, size) {
  if (grid.sampled && size === 1) {
    for (let n = 0; n < count; n++) if (coordinates[n * stride] === wanted) return n;
    return -1;
  }
  const n = Math.floor((wanted - first) / size);
  return n >= 0 && n < count ? n : -1;
}

/**
 * The cell that a key leads to, or null if the key means nothing here. With Shift, arrows go by
 * tiles.
 *
 * @param {Grid} grid
 * @param {number} cell
 * @param {{key: string, shiftKey: boolean}} event
 */
export function cellByKey(grid, cell, { key, shiftKey }) {
  const { rows, columns, rowTile, columnTile, cellRows, cellColumns } = grid;
  const step = (/** @type {number} */ tile, /** @type {number} */ size) =>
    shiftKey ? Math.max(Math.round(tile / size), 1) : 1;
  const clamp = (/** @type {number} */ n, /** @type {number} */ count) =>
    Math.min(Math.max(n, 0), count - 1);
  let row = Math.floor(cell / columns);
  let column = cell % columns;
  if (key === "ArrowUp") row -= step(rowTile, cellRows);
  else if (key === "ArrowDown") row += step(rowTile, cellRows);
  else if (key === "ArrowLeft") column -= step(columnTile, cellColumns);
  else if (key === "ArrowRight") column += step(columnTile, cellColumns);
  else return null;
  return clamp(row, rows) * columns + clamp(column, columns);
}
