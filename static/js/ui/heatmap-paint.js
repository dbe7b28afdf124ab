// @ts-check
import { colourOf } from "./colormap.js";

/** @typedef {import("./heatmap-grid.js").Grid} Grid */

/** Room for the numbers along the axes and for the frame of the last cell, in CSS pixels. */
export const MARGIN = { left: 44, top: 20, right: 5, bottom: 5 };

/**
 * Paints a grid: colours, hatching over the limit, crosses where there is no number, tile lines,
 * and the axes' tile starts.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Grid} grid
 * @param {{width: number, height: number}} cell in CSS pixels
 * @param {boolean} showTiles
 */
export function paint(canvas, grid, cell, showTiles) {
  const { rows, columns } = grid;
  const width = columns * cell.width;
  const height = rows * cell.height;
  const scale = Math.max(Math.ceil(devicePixelRatio), 1);
  const outerWidth = MARGIN.left + width + MARGIN.right;
  const outerHeight = MARGIN.top + height + MARGIN.bottom;
  canvas.width = outerWidth * scale;
  canvas.height = outerHeight * scale;
  canvas.style.width = `${outerWidth}px`; // CSSOM: the CSP allows it, a style attribute it would not
  canvas.style.height = `${outerHeight}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(scale, scale);
  context.translate(MARGIN.left, MARGIN.top);
  context.imageSmoothingEnabled = false;
  context.drawImage(image(grid), 0, 0, width, height);
  hatch(context, grid, cell);
  if (showTiles) tileLines(context, grid, cell, width, height);
  axes(context, grid, cell, getComputedStyle(canvas).color);
}

/**
 * One pixel a cell.
 *
 * @param {Grid} grid
 */
function image({ rows, columns, ratio }) {
  const pixels = new ImageData(columns, rows);
  for (let n = 0; n < ratio.length; n++) {
    pixels.data.set([...colourOf(ratio[n]), 255], 4 * n);
  }
  const picture = document.createElement("canvas");
  picture.width = columns;
  picture.height = rows;
  /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d")).putImageData(pixels, 0, 0);
  return picture;
}

/**
 * Strokes over the cells that exceed the limit. The strokes run on from cell to cell, so they
 * also show where a cell is only a pixel or two.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {{width: number, height: number}} cell
 */
function hatch(context, { columns, ratio }, cell) {
  const over = new Path2D();
  const noNumber = new Path2D();
  for (let n = 0; n < ratio.length; n++) {
    if (ratio[n] <= 1) continue;
    const x = (n % columns) * cell.width;
    const y = Math.floor(n / columns) * cell.height;
    (Number.isNaN(ratio[n]) ? noNumber : over).rect(x, y, cell.width, cell.height);
  }
  context.fillStyle = stripes(context, 1);
  context.fill(over);
  context.fillStyle = stripes(context, 2);
  context.fill(noNumber);
}

/**
 * A pattern of diagonals: one direction, or both.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {1 | 2} directions
 */
export function stripes(context, directions) {
  const size = 6;
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  pen.fillStyle = "rgb(0 0 0 / 0.75)";
  for (let n = 0; n < size; n++) {
    pen.fillRect(n, size - 1 - n, 1, 1);
    if (directions === 2) pen.fillRect(n, n, 1, 1);
  }
  return /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
}

/**
 * Tile borders, dark beside light, to be seen on every colour.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {{width: number, height: number}} cell
 * @param {number} width
 * @param {number} height
 */
function tileLines(context, { rows, columns, rowTile, columnTile }, cell, width, height) {
  for (const [colour, shift] of /** @type {[string, number][]} */ ([
    ["rgb(0 0 0 / 0.7)", 0],
    ["rgb(255 255 255 / 0.7)", -1],
  ])) {
    context.fillStyle = colour;
    for (const at of borders(rowTile, rows, cell.height)) context.fillRect(0, at + shift, width, 1);
    for (const at of borders(columnTile, columns, cell.width)) {
      context.fillRect(at + shift, 0, 1, height);
    }
  }
}

/**
 * @param {number} tile  in cells; 0 = none
 * @param {number} count cells
 * @param {number} edge  of a cell
 */
function borders(tile, count, edge) {
  const at = [];
  if (tile * edge >= 4) for (let n = tile; n < count; n += tile) at.push(Math.round(n * edge));
  return at;
}

/**
 * Row and column numbers, at tile starts where there are tiles.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {{width: number, height: number}} cell
 * @param {string} colour
 */
function axes(context, grid, cell, colour) {
  context.fillStyle = colour;
  context.font = "11px ui-monospace, monospace";
  context.textAlign = "right";
  context.textBaseline = "top";
  for (const n of ticks(grid.rows, grid.sampled ? 0 : grid.rowTile, cell.height, 14)) {
    const row = grid.row[n * grid.columns];
    if (grid.rowAxis) context.fillText(String(row - (row % grid.cellRows)), -5, n * cell.height);
  }
  context.textAlign = "left";
  context.textBaseline = "bottom";
  for (const n of ticks(grid.columns, grid.sampled ? 0 : grid.columnTile, cell.width, 40)) {
    const column = grid.column[n];
    context.fillText(String(column - (column % grid.cellColumns)), n * cell.width, -4);
  }
}

/**
 * Cells to number: every tile start, or a power of two of cells, thinned until they have room.
 *
 * @param {number} count
 * @param {number} tile
 * @param {number} edge
 * @param {number} room in pixels between two numbers
 */
export function ticks(count, tile, edge, room) {
  let step = Number.isInteger(tile) && tile > 0 ? tile : 1;
  while (step * edge < room) step *= 2;
  const at = [];
  for (let n = 0; n < count; n += step) at.push(n);
  return at;
}
