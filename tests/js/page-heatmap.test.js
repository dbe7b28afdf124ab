// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { readSafetensors } from "../../static/js/safetensors.js";
import { cellByKey, cellSize, gridFrom, worstCell } from "../../static/js/ui/heatmap-grid.js";
import { ticks } from "../../static/js/ui/heatmap-paint.js";

/**
 * A heat map as the server sends it.
 *
 * @param {number} rows
 * @param {number} columns
 * @param {Record<string, string>} [metadata]
 */
function file(rows, columns, metadata = {}) {
  const n = rows * columns;
  const planes = {
    expected: new Float64Array(n).fill(0.25),
    allowed: new Float64Array(n).fill(1e-7),
    ratio: Float32Array.from({ length: n }, (_, i) => i / 10),
    actual: new Float32Array(n).fill(0.5),
    row: Uint32Array.from({ length: n }, (_, i) => Math.floor(i / columns)),
    column: Uint32Array.from({ length: n }, (_, i) => i % columns),
  };
  const types = { Float32Array: "F32", Float64Array: "F64", Uint32Array: "U32" };
  /** @type {Record<string, unknown>} */
  const header = {
    __metadata__: {
      rows: String(rows),
      columns: String(columns),
      cell_rows: "1",
      cell_columns: "1",
      row_tile: "2",
      column_tile: "0",
      row_axis: "query",
      column_axis: "channel",
      b: "0",
      h: "1",
      batches: "2",
      heads: "3",
      ...metadata,
    },
  };
  let at = 0;
  for (const [name, data] of Object.entries(planes)) {
    const dtype = types[/** @type {keyof typeof types} */ (data.constructor.name)];
    header[name] = { dtype, shape: [rows, columns], data_offsets: [at, at + data.byteLength] };
    at += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + at);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  let end = 8 + text.length;
  for (const data of Object.values(planes)) {
    bytes.set(new Uint8Array(data.buffer), end);
    end += data.byteLength;
  }
  return bytes.buffer;
}

test("a safetensors file comes apart, also where its tensors are not aligned", () => {
  const { metadata, tensors } = readSafetensors(file(3, 2));
  assert.equal(metadata.heads, "3");
  assert.deepEqual([...tensors.expected], Array(6).fill(0.25));
  assert.deepEqual([...tensors.row], [0, 0, 1, 1, 2, 2]);
});

test("an element type that the page does not know is named", () => {
  const bytes = new Uint8Array(file(1, 1));
  const header = new TextDecoder("latin1").decode(bytes);
  bytes[header.indexOf("U32")] = "I".charCodeAt(0);
  assert.throws(() => readSafetensors(bytes.buffer), /row is I32/);
});

test("a vector lies down, its tiles and its axis with it", () => {
  const grid = gridFrom(readSafetensors(file(6, 1, { column_axis: "" })));
  assert.deepEqual([grid.rows, grid.columns], [1, 6]);
  assert.deepEqual([grid.rowTile, grid.columnTile], [0, 2]);
  assert.deepEqual([grid.rowAxis, grid.columnAxis], ["", "query"]);
  assert.deepEqual([...grid.column], [0, 1, 2, 3, 4, 5]);
});

test("tiles are counted in cells, of which each may stand for several elements", () => {
  const grid = gridFrom(readSafetensors(file(4, 2, { cell_rows: "4", row_tile: "16" })));
  assert.equal(grid.rowTile, 4);
});

test("cells are whole pixels, at least one and never larger than they need to be", () => {
  assert.deepEqual(cellSize({ rows: 48, columns: 24 }, 560, 512), { width: 22, height: 10 });
  assert.deepEqual(cellSize({ rows: 512, columns: 512 }, 320, 512), { width: 1, height: 1 });
  assert.deepEqual(cellSize({ rows: 1, columns: 256 }, 560, 512), { width: 2, height: 22 });
});

test("no number is worse than any number", () => {
  assert.equal(worstCell({ ratio: Float32Array.of(0, 3, 2) }), 1);
  assert.equal(worstCell({ ratio: Float32Array.of(0, 3, NaN, 9) }), 2);
  assert.equal(worstCell({ ratio: Float32Array.of(0, Infinity, 2) }), 1);
});

test("arrow keys move by a cell, with Shift by a tile, and stop at the edges", () => {
  const grid = gridFrom(readSafetensors(file(6, 4)));
  const press = (/** @type {string} */ key, shiftKey = false) =>
    cellByKey(grid, 5, { key, shiftKey });
  assert.deepEqual(
    ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map((key) => press(key)),
    [1, 9, 4, 6],
  );
  assert.equal(press("ArrowDown", true), 13);
  assert.equal(press("ArrowUp", true), 1);
  assert.equal(press("Home"), 23);
  assert.equal(press("a"), null);
});

test("axis numbers stand at tile starts and keep their distance", () => {
  assert.deepEqual(ticks(48, 16, 10, 14), [0, 16, 32]);
  assert.deepEqual(ticks(8, 0, 22, 40), [0, 2, 4, 6]);
  assert.deepEqual(ticks(64, 4, 2, 40), [0, 32]);
});
