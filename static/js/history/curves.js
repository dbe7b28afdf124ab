// @ts-check
import { formatDuration, formatRatio, plural, toNumber } from "../format.js";

/** What the page draws of runs over time: numbers only, nothing of a document. */

/**
 * A run in the list, as the server tells it.
 *
 * @typedef {object} Row
 * @property {string} run
 * @property {string} kind      run, bench, golden or train
 * @property {string} origin
 * @property {string} finished  ISO 8601
 * @property {string} case
 * @property {string} kernel
 * @property {string} own       the name of a kernel that is not ours
 * @property {string} status
 * @property {number | string | null} worst
 * @property {number | null} elapsed_ns
 * @property {number | null} gpu_ns
 * @property {number | null} median_ns
 * @property {number | null} tflops
 * @property {number | null} steps  of a training
 * @property {number | string | null} loss  the last of it
 * @property {string | null} adapter
 * @property {string} engine
 * @property {number} edited
 * @property {number} kept_bytes
 */

/**
 * @typedef {object} Point
 * @property {Row} row
 * @property {number} n      the place of the run among all, oldest first
 * @property {number} value  within the axis
 * @property {boolean} beyond  the true value is off the axis: infinite, or 0 on a logarithmic one
 */

/**
 * @typedef {object} Curve runs of one kernel on one case: what a line may join
 * @property {string} kernel
 * @property {number} style  the kernel's number
 * @property {Point[]} points
 */

/**
 * @typedef {object} Drawing
 * @property {Curve[]} curves
 * @property {string[]} kernels  by style
 * @property {number} count      how many runs the axis has room for
 * @property {[number, number]} range  ends of the axis: powers of ten
 * @property {number[]} ticks
 * @property {string} summary    the drawing in a sentence
 */

/** A measure of a run; null where it has none. @typedef {(row: Row) => number | null} Measure */

/** @type {Measure} */
export const worstOf = (row) => {
  const worst = toNumber(row.worst);
  return worst !== null && Number.isNaN(worst) ? Infinity : worst;
};

/** The best time there is: of a benchmark or a training's step, of the GPU, of the page. @type {Measure} */
export const timeOf = (row) => row.median_ns ?? row.gpu_ns ?? row.elapsed_ns;

/** Beyond these nobody compares any more, and the rest would be squeezed. */
const DECADES = /** @type {[number, number]} */ ([1e-6, 1e6]);

/**
 * @param {readonly Row[]} rows  newest first, as they come
 * @param {Measure} measure
 * @param {object} options
 * @param {string} options.what  what is measured, for the summary
 * @param {(value: number) => string} options.say
 * @param {number} [options.include]  a value that the axis shows in any case
 * @returns {Drawing}
 */
export function drawing(rows, measure, { what, say, include }) {
  const oldest = [...rows].reverse();
  const kernels = [...new Set(oldest.map(nameOf))]; // also those without a value: colours agree
  /** @type {Map<string, Curve>} */
  const curves = new Map();
  const values = oldest
    .map(measure)
    .filter((value) => value !== null && value > 0 && Number.isFinite(value));
  const range = decades(/** @type {number[]} */ (values), include);
  for (const [n, row] of oldest.entries()) {
    const value = measure(row);
    if (value === null) continue;
    const kernel = nameOf(row);
    const key = `${kernel} ${row.case}`;
    const style = kernels.indexOf(kernel);
    const curve = curves.get(key) ?? { kernel, style, points: [] };
    const within = Math.min(Math.max(value, range[0]), range[1]);
    curve.points.push({ row, n, value: within, beyond: within !== value });
    curves.set(key, curve);
  }
  return {
    curves: [...curves.values()],
    kernels,
    count: oldest.length,
    range,
    ticks: values.length || include !== undefined ? ticksOf(range) : [],
    summary: summaryOf(oldest, measure, what, say),
  };
}

/** @param {readonly Row[]} rows */
export const worstDrawing = (rows) =>
  drawing(rows, worstOf, { what: "Worst error over allowed", say: formatRatio, include: 1 });

/** @param {readonly Row[]} rows */
export const timeDrawing = (rows) =>
  drawing(rows, timeOf, { what: "Time", say: (ns) => formatDuration(ns) });

/** What a run's kernel is called. @param {Row} row */
export const nameOf = (row) => row.own || row.kernel;

/**
 * Powers of ten around the values, a decade apart at least.
 *
 * @param {number[]} values
 * @param {number} [include]
 * @returns {[number, number]}
 */
export function decades(values, include) {
  const all = include === undefined ? values : [...values, include];
  if (!all.length) return [1, 10];
  const [least, most] = include === undefined ? [0, Infinity] : DECADES;
  const low = Math.floor(Math.log10(Math.max(Math.min(...all), least)) + 1e-9);
  const high = Math.ceil(Math.log10(Math.min(Math.max(...all), most)) - 1e-9);
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

/**
 * Powers of ten, at most seven of them.
 *
 * @param {[number, number]} range
 */
export function ticksOf([from, to]) {
  const [low, high] = [Math.round(Math.log10(from)), Math.round(Math.log10(to))];
  const step = Math.max(1, Math.ceil((high - low) / 6));
  const ticks = [];
  for (let decade = low; decade <= high; decade += step) ticks.push(10 ** decade);
  return ticks;
}

/**
 * From 0 at the low end of a logarithmic axis to 1 at its high end.
 *
 * @param {[number, number]} range
 * @returns {(value: number) => number}
 */
export function logShare([from, to]) {
  const [low, high] = [Math.log10(from), Math.log10(to)];
  return (value) => (Math.log10(value) - low) / (high - low);
}

/**
 * @param {readonly Row[]} oldest
 * @param {Measure} measure
 * @param {string} what
 * @param {(value: number) => string} say
 */
function summaryOf(oldest, measure, what, say) {
  const told = oldest.flatMap((row) => {
    const value = measure(row);
    return value === null ? [] : [{ row, value }];
  });
  if (!told.length) return `${what}: no run has one.`;
  const most = told.reduce((a, b) => (b.value > a.value ? b : a));
  const least = told.reduce((a, b) => (b.value < a.value ? b : a));
  return (
    `${what} of ${plural(told.length, "run")}, oldest first: from ${say(least.value)} to ${say(most.value)}, ` +
    `the last ${say(told[told.length - 1].value)}.`
  );
}
