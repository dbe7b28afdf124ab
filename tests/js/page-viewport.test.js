// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { readSafetensors } from "../../static/js/safetensors.js";
import { gridFrom } from "../../static/js/ui/heatmap-grid.js";
import { HeatMapState } from "../../static/js/ui/heatmap-state.js";
import { isWhole, panned, showing, whole, windowOf, zoomed } from "../../static/js/ui/viewport.js";
import { file } from "./heatmap-file.js";

const HEAD = { allRows: 64, allColumns: 16 };
const MIDDLE = { x: 0.5, y: 0.5 };

test("zooming keeps what is at the point where it is", () => {
  const closer = zoomed(whole(HEAD), HEAD, 2, { x: 0.25, y: 0.75 });
  assert.deepEqual(closer, { top: 24, left: 2, rows: 32, columns: 8 });
  assert.equal(closer.top + 0.75 * closer.rows, 0.75 * 64);
  assert.deepEqual(zoomed(closer, HEAD, 1 / 2, { x: 0.25, y: 0.75 }), whole(HEAD));
});

test("one comes no closer than a few elements, and not further than all", () => {
  const closest = zoomed(whole(HEAD), HEAD, 1000, MIDDLE);
  assert.deepEqual([closest.rows, closest.columns], [4, 4]);
  assert.ok(isWhole(zoomed(closest, HEAD, 1e-6, MIDDLE), HEAD));
  const vector = { allRows: 1, allColumns: 64 };
  assert.equal(zoomed(whole(vector), vector, 8, MIDDLE).rows, 1);
});

test("a picture that is moved stops at the edges of its head", () => {
  const view = zoomed(whole(HEAD), HEAD, 2, MIDDLE);
  assert.deepEqual(panned(view, HEAD, -500, 500), { top: 0, left: 8, rows: 32, columns: 8 });
});

test("an element outside of the picture is brought in by the shortest way", () => {
  const view = { top: 10, left: 4, rows: 8, columns: 4 };
  assert.equal(showing(view, HEAD, 30, 5).top, 23);
  assert.equal(showing(view, HEAD, 2, 5).top, 2);
  assert.deepEqual(showing(view, HEAD, 12, 5), view);
});

test("a window has every element that is touched", () => {
  assert.deepEqual(windowOf({ top: 1.5, left: 0, rows: 4, columns: 15.2 }, HEAD), {
    rows: [1, 6],
    columns: [0, 16],
  });
});

/** A head of 64 × 8 elements in cells of 4 × 1; its worst cell is the last. */
function coarse() {
  return gridFrom(readSafetensors(file(16, 8, { cell_rows: "4" })));
}

test("the worst cell is read out first, and finer cells are wanted only once one is closer", () => {
  const state = new HeatMapState(coarse());
  assert.equal(state.cell, 127);
  assert.equal(state.wanted(), null);
  state.zoom(4, { x: 0, y: 0 });
  assert.deepEqual(state.wanted(), { rows: "0:16", columns: "0:4" });
});

test("a window is shown while it has all that is seen, and the head when it has not", () => {
  const state = new HeatMapState(coarse());
  state.zoom(4, { x: 0, y: 0 });
  const window = gridFrom(
    readSafetensors(file(16, 4, { all_rows: "64", all_columns: "8", row_tile: "4" })),
  );
  state.refine(window);
  assert.equal(state.grid, window);
  assert.equal(state.wanted(), null, "it is as fine as can be");
  state.pan(0.5, 0);
  assert.equal(state.grid, state.head);
});

test("going to an element comes close enough and chooses it", () => {
  const state = new HeatMapState(coarse());
  state.goTo(41, 3);
  assert.ok(!state.isWhole);
  const { rows } = windowOf(state.viewport, state.head);
  assert.ok(rows[0] <= 41 && 41 < rows[1]);
  assert.equal(state.cell, 10 * 8 + 3);
});

test("keys lead over the edge of a window and home to the worst of the head", () => {
  const state = new HeatMapState(coarse());
  state.zoom(4, { x: 0, y: 0 });
  state.refine(gridFrom(readSafetensors(file(16, 4, { all_rows: "64", all_columns: "8" }))));
  state.choose(state.grid, 15 * 4);
  assert.ok(state.key({ key: "ArrowDown", shiftKey: false }));
  assert.equal(state.grid, state.head);
  assert.equal(state.cell, 4 * 8);
  assert.ok(state.key({ key: "Home", shiftKey: false }));
  assert.equal(state.cell, 127);
  assert.equal(state.key({ key: "x", shiftKey: false }), false);
});

test("a vector is asked for by its own axis, although it lies down", () => {
  const state = new HeatMapState(
    gridFrom(readSafetensors(file(512, 1, { cell_rows: "4", column_axis: "" }))),
  );
  state.zoom(8, { x: 0, y: 0 });
  assert.deepEqual(state.wanted(), { rows: "0:256", columns: "0:1" });
});
