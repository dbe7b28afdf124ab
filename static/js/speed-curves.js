// @ts-check
/** What the page draws and says of benchmarks: numbers only, nothing of a document. */

/** @typedef {import("./bench-session.js").BenchReport} BenchReport */

/** @typedef {{T: number, tflops: number}} SpeedPoint */

/**
 * @typedef {object} SpeedSeries cases that differ in their length alone
 * @property {string} name
 * @property {boolean} backward
 * @property {SpeedPoint[]} points  by T
 */

/**
 * @typedef {object} SpeedCurves
 * @property {SpeedSeries[]} series
 * @property {{name: string, tflops: number}[]} peaks  those that the series are held against
 * @property {number[]} lengths  ticks: every power of two from the shortest to the longest
 * @property {number} most     end of the axis
 * @property {number[]} ticks
 * @property {string} summary  the drawing in a sentence
 */

const PEAK_NAMES = { f32: "f32 peak", f16_matrix: "f16 matrix peak" };

/**
 * @param {readonly BenchReport[]} reports  in the order they came; a later one replaces an earlier one
 * @returns {SpeedCurves}
 */
export function speedCurves(reports) {
  /** @type {Map<string, {backward: boolean, points: Map<number, number>}>} */
  const found = new Map();
  /** @type {Map<string, number>} */
  const peaks = new Map();
  for (const { case: id, kernel = "", tflops, peak, peaks: measured } of reports) {
    if (!tflops) continue;
    const { length, others } = takeLength(id);
    const name = `${others} ${kernel}`;
    const series = found.get(name) ?? { backward: id.startsWith("backward"), points: new Map() };
    series.points.set(length, tflops);
    found.set(name, series);
    const most =
      measured && (peak === "f16_matrix" ? measured.f16_matrix_tflops : measured.f32_tflops);
    if (peak && most) peaks.set(PEAK_NAMES[peak], most);
  }
  const series = [...found].map(([name, { backward, points }]) => ({
    name,
    backward,
    points: [...points].map(([T, tflops]) => ({ T, tflops })).sort((a, b) => a.T - b.T),
  }));
  const all = series.flatMap(({ points }) => points);
  const highest = Math.max(...all.map(({ tflops }) => tflops), ...peaks.values(), 0);
  const ticks = ticksTo(highest);
  return {
    series,
    peaks: [...peaks].map(([name, tflops]) => ({ name, tflops })),
    lengths: powersOfTwo(all.map(({ T }) => T)),
    most: ticks[ticks.length - 1] ?? 1,
    ticks,
    summary: summaryOf(series),
  };
}

/**
 * A case's id without its length: `forward:T=512,H=16,D=64` is 512 and `forward:H=16,D=64`.
 *
 * @param {string} id
 */
export function takeLength(id) {
  const [op, keys] = id.split(":", 2);
  const rest = keys.split(",");
  const lengthOf = (/** @type {string} */ key) =>
    Number(rest.find((pair) => pair.startsWith(`${key}=`))?.slice(key.length + 1) ?? 0);
  const length = lengthOf("T") || Math.max(lengthOf("Tq"), lengthOf("Tk"));
  // What has two lengths is a series of its own only with the shape of its shorter one.
  const kept = rest.filter((pair) => !pair.startsWith("T=") && !pair.startsWith("Tk="));
  return { length, others: `${op}:${kept.join(",")}` };
}

/**
 * Round steps from 0 to beyond a number.
 *
 * @param {number} highest
 */
export function ticksTo(highest) {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = size * ([1, 2, 2.5, 5, 10].find((n) => n * size >= rough) ?? 10);
  const count = Math.ceil(highest / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, n) => Number((n * step).toPrecision(6)));
}

/** @param {number[]} lengths */
function powersOfTwo(lengths) {
  if (!lengths.length) return [];
  const first = Math.floor(Math.log2(Math.min(...lengths)));
  const last = Math.ceil(Math.log2(Math.max(...lengths)));
  return Array.from({ length: last - first + 1 }, (_, n) => 2 ** (first + n));
}

/** @param {SpeedSeries[]} series */
function summaryOf(series) {
  if (!series.length) return "TFLOP/s against T: nothing timed yet.";
  const said = series.map(({ name, points }) => {
    const best = points.reduce((a, b) => (b.tflops > a.tflops ? b : a));
    return `${name} ${formatTflops(best.tflops)} TFLOP/s at T = ${best.T}`;
  });
  return `TFLOP/s against T. At most: ${said.join("; ")}.`;
}

/** @param {number | null | undefined} tflops */
export function formatTflops(tflops) {
  return tflops ? String(Number(tflops.toPrecision(3))) : "–";
}

/** @param {number | null | undefined} ns */
export function formatTime(ns) {
  if (!ns) return "–";
  const [size, unit] =
    ns < 1e3 ? [1, "ns"] : ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  return `${Number((ns / Number(size)).toPrecision(3))} ${unit}`;
}
