// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { readSafetensors } from "../../static/js/safetensors.js";
import {
  cellByKey,
  cellOf,
  gridFrom,
  pictureSize,
  worstCell,
} from "../../static/js/ui/heatmap-grid.js";
import { borders, frameOf, ticks } from "../../static/js/ui/heatmap-paint.js";
import { viewOf } from "../../static/js/ui/heatmap-views.js";
import { file } from "./heatmap-file.js";

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

test("a picture has whole pixels a cell, at least one and never more than it needs", () => {
  const size = (/** @type {number} */ allRows, /** @type {number} */ allColumns, width = 560) =>
    pictureSize({ allRows, allColumns }, width, 512);
  assert.deepEqual(size(48, 24), { width: 22 * 24, height: 10 * 48 });
  assert.deepEqual(size(512, 512, 320), { width: 512, height: 512 });
  assert.deepEqual(size(1, 256), { width: 2 * 256, height: 22 });
  assert.deepEqual(size(1024, 64), { width: 6 * 64, height: 512 }, "two rows share a cell");
  assert.deepEqual(size(512, 8), { width: 22 * 8, height: 512 }, "a few columns can be pointed at");
});

test("an element is found in its cell, in a window only if it is there", () => {
  const head = gridFrom(readSafetensors(file(4, 2, { cell_rows: "4" })));
  assert.equal(cellOf(head, 7, 1), 3);
  assert.equal(cellOf(head, 16, 1), -1);
  const window = gridFrom(readSafetensors(file(4, 2, { first_row: "10", all_rows: "40" })));
  assert.deepEqual(
    [cellOf(window, 9, 0), cellOf(window, 10, 0), cellOf(window, 13, 1)],
    [-1, 0, 7],
  );
});

test("a sampled row is found by its own number", () => {
  const grid = gridFrom(readSafetensors(file(3, 2, { sampled: "1" })));
  grid.row.set([0, 0, 500, 500, 9000, 9000]);
  assert.equal(cellOf(grid, 9000, 1), 5);
  assert.equal(cellOf(grid, 501, 1), -1);
});

test("a cell that is pointed at is the one that is painted there", () => {
  const grid = gridFrom(readSafetensors(file(8, 4)));
  const frame = frameOf(grid, { top: 2, left: 1, rows: 4, columns: 2 }, { width: 100, height: 80 });
  assert.deepEqual([frame.cellWidth, frame.cellHeight], [50, 20]);
  assert.equal(frame.cell(60, 30), 3 * 4 + 2);
  assert.deepEqual([frame.x(2), frame.y(3)], [50, 20]);
  assert.equal(frame.cell(500, 30), null);
});

test("tile lines stand at the kernel's tiles, also in a part of the head", () => {
  assert.deepEqual(borders(16, 0, 48, 480), [160, 320]);
  assert.deepEqual(borders(16, 12, 24, 240), [40, 200]);
  assert.deepEqual(borders(16, 0, 4096, 512), [], "a line every other pixel would be a grey mist");
  assert.deepEqual(borders(0, 0, 48, 480), []);
});

test("each view shows its own numbers, and marks what is none", () => {
  const grid = gridFrom(readSafetensors(file(1, 4, { all_rows: "1" })));
  grid.actual.set([NaN, Infinity, -0.25, 0.25]);
  grid.ratio.set([NaN, Infinity, 7, 0]);
  const marks = (/** @type {import("../../static/js/ui/heatmap-views.js").ViewName} */ name) => {
    const view = viewOf(name, grid)(grid);
    return [0, 1, 2, 3].map((n) => view.mark(view.value(n)));
  };
  assert.deepEqual(marks("ratio"), ["nan", "inf", "over", null]);
  assert.deepEqual(marks("actual"), ["nan", "inf", null, null]);
  assert.deepEqual(marks("expected"), [null, null, null, null]);
  const difference = viewOf("difference", grid)(grid);
  assert.deepEqual([difference.value(2), difference.value(3)], [-0.5, 0]);
  const [blue, white, orange] = [-0.5, 0, 0.5].map((x) => difference.colour(x).join());
  assert.equal(new Set([blue, white, orange]).size, 3);
});

test("no number is worse than any number", () => {
  assert.equal(worstCell({ ratio: Float64Array.of(0, 3, 2) }), 1);
  assert.equal(worstCell({ ratio: Float64Array.of(0, 3, NaN, 9) }), 2);
  assert.equal(worstCell({ ratio: Float64Array.of(0, Infinity, 2) }), 1);
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
  assert.equal(press("a"), null);
});

test("axis numbers stand at tile starts and keep their distance", () => {
  assert.deepEqual(ticks(0, 48, 16, 480, 14), [0, 16, 32]);
  assert.deepEqual(ticks(0, 8, 0, 176, 40), [0, 2, 4, 6]);
  assert.deepEqual(ticks(0, 64, 4, 128, 40), [0, 32]);
  assert.deepEqual(ticks(20, 40, 16, 400, 14), [32, 48]);
});
