// @ts-check

/** @typedef {import("./heatmap-grid.js").Grid} Grid */
/** @typedef {import("./heatmap-views.js").View} View */
/** @typedef {import("./heatmap-views.js").Mark} Mark */
/** @typedef {import("./viewport.js").Viewport} Viewport */

/** Room for the numbers along the axes and for the frame of the last cell, in CSS pixels. */
export const MARGIN = { left: 44, top: 20, right: 5, bottom: 5 };

/**
 * Paints the part of a head that a viewport shows: colours, marks where there is no number or the
 * limit is passed, tile lines, and the axes' tile starts.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Grid} grid
 * @param {View} view
 * @param {Viewport} viewport
 * @param {{width: number, height: number}} size of the picture in CSS pixels
 * @param {boolean} showTiles
 */
export function paint(canvas, grid, view, viewport, size, showTiles) {
  const { width, height } = size;
  const dense = Math.max(Math.ceil(devicePixelRatio), 1);
  const outerWidth = MARGIN.left + width + MARGIN.right;
  const outerHeight = MARGIN.top + height + MARGIN.bottom;
  canvas.width = outerWidth * dense;
  canvas.height = outerHeight * dense;
  canvas.style.width = `${outerWidth}px`; // CSSOM: the CSP allows it, a style attribute it would not
  canvas.style.height = `${outerHeight}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(dense, dense);
  context.translate(MARGIN.left, MARGIN.top);
  const frame = frameOf(grid, viewport, size);
  context.save();
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  context.imageSmoothingEnabled = false;
  context.drawImage(
    image(grid, view),
    frame.x(0),
    frame.y(0),
    grid.columns * frame.cellWidth,
    grid.rows * frame.cellHeight,
  );
  marks(context, grid, view, frame, size);
  if (showTiles) tileLines(context, grid, viewport, size);
  context.restore();
  axes(context, grid, viewport, size, getComputedStyle(canvas).color, showTiles);
}

/**
 * Where the cells of a grid lie in the picture.
 *
 * @param {Grid} grid
 * @param {Viewport} viewport
 * @param {{width: number, height: number}} size
 */
export function frameOf(grid, viewport, { width, height }) {
  const cellWidth = (grid.cellColumns * width) / viewport.columns;
  const cellHeight = (grid.cellRows * height) / viewport.rows;
  const left = ((grid.firstColumn - viewport.left) * width) / viewport.columns;
  const top = ((grid.firstRow - viewport.top) * height) / viewport.rows;
  return {
    cellWidth,
    cellHeight,
    x: (/** @type {number} */ column) => left + column * cellWidth,
    y: (/** @type {number} */ row) => top + row * cellHeight,
    /** The cell at a point of the picture, null outside of the grid. */
    cell: (/** @type {number} */ x, /** @type {number} */ y) => {
      const column = Math.floor((x - left) / cellWidth);
      const row = Math.floor((y - top) / cellHeight);
      const inside = column >= 0 && row >= 0 && column < grid.columns && row < grid.rows;
      return inside ? row * grid.columns + column : null;
    },
  };
}

/**
 * One pixel a cell.
 *
 * @param {Grid} grid
 * @param {View} view
 */
function image({ rows, columns }, view) {
  const pixels = new ImageData(columns, rows);
  for (let n = 0; n < rows * columns; n++) {
    pixels.data.set([...view.colour(view.value(n)), 255], 4 * n);
  }
  const picture = document.createElement("canvas");
  picture.width = columns;
  picture.height = rows;
  /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d")).putImageData(pixels, 0, 0);
  return picture;
}

/**
 * Strokes over marked cells. They run on from cell to cell, so they also show where a cell is
 * only a pixel or two.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {View} view
 * @param {ReturnType<typeof frameOf>} frame
 * @param {{width: number, height: number}} size
 */
function marks(context, { rows, columns }, view, frame, { width, height }) {
  const { cellWidth, cellHeight } = frame;
  /** @type {Record<string, Path2D>} */
  const paths = { over: new Path2D(), nan: new Path2D(), inf: new Path2D() };
  for (let n = 0; n < rows * columns; n++) {
    const mark = view.mark(view.value(n));
    if (!mark) continue;
    const [x, y] = [frame.x(n % columns), frame.y(Math.floor(n / columns))];
    if (x + cellWidth < 0 || y + cellHeight < 0 || x > width || y > height) continue;
    paths[mark].rect(x, y, cellWidth, cellHeight);
  }
  for (const [mark, path] of Object.entries(paths)) {
    context.fillStyle = pattern(context, /** @type {Mark} */ (mark));
    context.fill(path);
  }
}

/**
 * Diagonals over what passes the limit, crosses where there is no number, bars for infinity.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Mark} mark
 */
export function pattern(context, mark) {
  const size = 6;
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  pen.fillStyle = "rgb(0 0 0 / 0.75)";
  for (let n = 0; n < size; n++) {
    if (mark === "inf") pen.fillRect(n, 2, 1, 2);
    else pen.fillRect(n, size - 1 - n, 1, 1);
    if (mark === "nan") pen.fillRect(n, n, 1, 1);
  }
  return /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
}

/**
 * Tile borders, dark beside light, to be seen on every colour.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {Viewport} viewport
 * @param {{width: number, height: number}} size
 */
function tileLines(context, grid, viewport, { width, height }) {
  const across = borders(grid.rowTile, viewport.top, viewport.rows, height);
  const down = borders(grid.columnTile, viewport.left, viewport.columns, width);
  for (const [colour, shift] of /** @type {[string, number][]} */ ([
    ["rgb(0 0 0 / 0.7)", 0],
    ["rgb(255 255 255 / 0.7)", -1],
  ])) {
    context.fillStyle = colour;
    for (const at of across) context.fillRect(0, at + shift, width, 1);
    for (const at of down) context.fillRect(at + shift, 0, 1, height);
  }
}

/**
 * Where tiles begin inside of a viewport, in pixels; nowhere if they would be a grey mist.
 *
 * @param {number} tile  in elements; 0 = none
 * @param {number} start of the viewport
 * @param {number} count elements in it
 * @param {number} room  pixels for them
 */
export function borders(tile, start, count, room) {
  const edge = room / count;
  const at = [];
  if (tile * edge >= 4) {
    for (let n = (Math.floor(start / tile) + 1) * tile; n < start + count; n += tile) {
      at.push(Math.round((n - start) * edge));
    }
  }
  return at;
}

/**
 * Row and column numbers, at tile starts where there are tiles.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {Viewport} viewport
 * @param {{width: number, height: number}} size
 * @param {string} colour
 * @param {boolean} byTiles
 */
function axes(context, grid, viewport, { width, height }, colour, byTiles) {
  context.fillStyle = colour;
  context.font = "11px ui-monospace, monospace";
  context.textAlign = "right";
  context.textBaseline = "top";
  const { top, left, rows, columns } = viewport;
  const number = (
    /** @type {number} */ element,
    /** @type {Uint32Array} */ coordinates,
    /** @type {number} */ first,
    /** @type {number} */ stride,
  ) => (grid.sampled ? (coordinates[(element - first) * stride] ?? "") : element);
  for (const n of ticks(top, rows, byTiles ? grid.rowTile : 0, height, 14)) {
    const text = String(number(n, grid.row, grid.firstRow, grid.columns));
    if (grid.rowAxis) context.fillText(text, -5, ((n - top) * height) / rows);
  }
  context.textAlign = "left";
  context.textBaseline = "bottom";
  for (const n of ticks(left, columns, byTiles ? grid.columnTile : 0, width, 40)) {
    const text = String(number(n, grid.column, grid.firstColumn, 1));
    context.fillText(text, ((n - left) * width) / columns, -4);
  }
}

/**
 * Elements to number: every tile start, or multiples of a power of two, thinned until they have
 * room.
 *
 * @param {number} start
 * @param {number} count
 * @param {number} tile
 * @param {number} size  pixels for all of them
 * @param {number} room  pixels between two numbers
 */
export function ticks(start, count, tile, size, room) {
  let step = tile > 0 && tile < count ? tile : 1;
  while ((step * size) / count < room) step *= 2;
  const at = [];
  for (let n = Math.ceil(start / step) * step; n < start + count; n += step) at.push(n);
  return at;
}
