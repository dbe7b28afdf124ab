// @ts-check
import { colourOf, diverging, INFINITE, NO_NUMBER } from "./colormap.js";

/** @typedef {import("./heatmap-grid.js").Grid} Grid */
/** @typedef {import("./colormap.js").Rgb} Rgb */
/** @typedef {"ratio" | "actual" | "expected" | "difference"} ViewName */
/** @typedef {"over" | "nan" | "inf" | null} Mark what is drawn over a cell's colour */

/**
 * A way to look at a head: a number for each cell, its colour, and what its legend shows.
 *
 * @typedef {object} View
 * @property {(n: number) => number} value
 * @property {(value: number) => Rgb} colour
 * @property {(value: number) => Mark} mark
 * @property {string} says            what the colours mean
 * @property {[string, number][]} samples  for the legend
 */

/** @type {Record<ViewName, string>} */
export const VIEW_NAMES = {
  ratio: "|error| / allowed",
  actual: "actual",
  expected: "reference",
  difference: "actual − reference",
};

/** A difference is told apart from none over this many powers of ten. */
const DECADES = 6;

/**
 * @param {ViewName} name
 * @param {Grid} head  the whole of it: a window has the colours of its head
 * @returns {(grid: Grid) => View}
 */
export function viewOf(name, head) {
  if (name === "ratio") return ratioView;
  if (name === "difference") return differenceView(head);
  return valueView(name, head);
}

/**
 * @param {Grid} grid
 * @returns {View}
 */
function ratioView({ ratio, actual }) {
  return {
    // A ratio is infinite also where the bound is zero; the output is what NaN and inf are of.
    value: (n) =>
      Number.isFinite(actual[n]) || ratio[n] <= 1
        ? Math.min(ratio[n], Number.MAX_VALUE)
        : actual[n],
    colour: (value) => (Math.abs(value) === Infinity ? INFINITE : colourOf(value)),
    mark: (value) => markOf(value) ?? (value > 1 ? "over" : null),
    says: "log scale; hatched = over the limit",
    samples: [
      ["≤ 0.001", 1e-3],
      ["0.01", 1e-2],
      ["0.1", 1e-1],
      ["1 = the limit", 1],
      ["> 1", 1.01],
      ["10", 10],
      ["≥ 1000", 1e3],
      ["NaN", NaN],
      ["inf", Infinity],
    ],
  };
}

/**
 * Actual and reference in the same colours, those of the reference's range.
 *
 * @param {"actual" | "expected"} name
 * @param {Grid} head
 * @returns {(grid: Grid) => View}
 */
function valueView(name, head) {
  const most = largest(head.expected.length, (n) => head.expected[n]) || 1;
  return (grid) => ({
    value: (n) => grid[name][n],
    colour: (value) => plain(value) ?? diverging(value / most),
    mark: markOf,
    says: "linear, the range of the reference",
    samples: [-1, -0.5, 0, 0.5, 1]
      .map((x) => /** @type {[string, number]} */ ([shown(x * most), x * most]))
      .concat([
        ["NaN", NaN],
        ["inf", Infinity],
      ]),
  });
}

/**
 * @param {Grid} head
 * @returns {(grid: Grid) => View}
 */
function differenceView(head) {
  const most = largest(head.actual.length, (n) => head.actual[n] - head.expected[n]) || 1;
  const place = (/** @type {number} */ value) =>
    Math.sign(value) * Math.max(0, 1 + Math.log10(Math.abs(value) / most) / DECADES);
  return (grid) => ({
    value: (n) => {
      const [actual, expected] = [grid.actual[n], grid.expected[n]];
      // No key: −inf and anything very negative are the same, and right.
      return expected === -Infinity && grid.ratio[n] <= 1 ? 0 : actual - expected;
    },
    colour: (value) => plain(value) ?? diverging(value === 0 ? 0 : place(value)),
    mark: markOf,
    says: `log scale both ways; white = none, or under 10⁻⁶ of the largest`,
    samples: [-1, -1e-3, 0, 1e-3, 1]
      .map((x) => /** @type {[string, number]} */ ([shown(x * most), x * most]))
      .concat([
        ["NaN", NaN],
        ["inf", Infinity],
      ]),
  });
}

/**
 * @param {number} value
 * @returns {Mark}
 */
function markOf(value) {
  if (Number.isNaN(value)) return "nan";
  return Number.isFinite(value) ? null : "inf";
}

/** @param {number} value */
function plain(value) {
  if (Number.isNaN(value)) return NO_NUMBER;
  return Number.isFinite(value) ? null : INFINITE;
}

/**
 * The largest finite magnitude.
 *
 * @param {number} count
 * @param {(n: number) => number} value
 */
function largest(count, value) {
  let most = 0;
  for (let n = 0; n < count; n++) {
    const size = Math.abs(value(n));
    if (size > most && size !== Infinity) most = size;
  }
  return most;
}

/** @param {number} x */
function shown(x) {
  const size = Math.abs(x);
  if (x === 0) return "0";
  const text =
    size >= 1e-3 && size < 1e5 ? String(Number(size.toPrecision(3))) : size.toExponential(1);
  return x < 0 ? `−${text}` : text;
}
