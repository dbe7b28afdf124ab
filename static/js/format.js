// @ts-check

/** Numbers as the page writes them: fixed in width where they stand in columns, never "-0". */

/** @typedef {number | string | null | undefined} Number_ a number, or JSON's word for none */

/**
 * A value of a tensor, to nine digits: enough to tell any two float32 apart.
 *
 * @param {Number_} value
 */
export function formatValue(value) {
  const x = toNumber(value);
  if (x === null) return "–";
  if (!Number.isFinite(x)) return nonFinite(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e-4 && size < 1e9 ? String(Number(x.toPrecision(9))) : shortExponent(x, 8);
}

/**
 * What an element may be off by: three digits say it.
 *
 * @param {Number_} value
 */
export function formatTolerance(value) {
  const x = toNumber(value);
  return formatValue(x === null ? x : Number(x.toPrecision(3)));
}

/**
 * |error| / allowed: short, and never ambiguous about the limit.
 *
 * @param {Number_} value
 */
export function formatRatio(value) {
  const x = toNumber(value);
  if (x === null) return "–";
  if (!Number.isFinite(x)) return nonFinite(x);
  if (x === 0) return "0";
  if (x < 0.001) return shortExponent(x, 0);
  if (x < 10) return x.toFixed(x < 0.1 ? 3 : digitsBesideOne(x));
  return x < 1000 ? x.toFixed(0) : shortExponent(x, 1);
}

/**
 * Two digits after the point, or more where two would say 1.00 of what is just over or just under.
 *
 * @param {number} x
 */
function digitsBesideOne(x) {
  let digits = 2;
  while (digits < 9 && x !== 1 && Number(x.toFixed(digits)) === 1) digits += 1;
  return digits;
}

/** @param {Number_} nanoseconds */
export function formatDuration(nanoseconds) {
  const ns = toNumber(nanoseconds);
  if (ns === null) return "–";
  if (ns < 1e6) return `${(ns / 1e3).toFixed(0)} µs`;
  if (ns < 1e7) return `${(ns / 1e6).toFixed(1)} ms`;
  return ns < 1e9 ? `${(ns / 1e6).toFixed(0)} ms` : `${(ns / 1e9).toFixed(2)} s`;
}

/**
 * Floating-point operations.
 *
 * @param {number} count
 */
export function formatFlops(count) {
  const [size, unit] =
    count < 1e9 ? [1e6, "MFLOP"] : count < 1e12 ? [1e9, "GFLOP"] : [1e12, "TFLOP"];
  return `${Number((count / Number(size)).toPrecision(3))} ${unit}`;
}

/**
 * A limit of a device: in MiB or GiB where it is a whole number of them.
 *
 * @param {number} bytes
 */
export function formatBytes(bytes) {
  for (const [unit, size] of /** @type {[string, number][]} */ ([
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
  ])) {
    if (bytes >= size && Number.isInteger((bytes * 4) / size)) return `${bytes / size} ${unit}`;
  }
  return `${bytes} B`;
}

/**
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * JSON has no NaN and no infinity: they travel as words.
 *
 * @param {Number_} value
 * @returns {number | null}
 */
export function toNumber(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  const word = value.toLowerCase().replace("infinity", "inf");
  if (word === "inf" || word === "+inf") return Infinity;
  return word === "-inf" ? -Infinity : Number(value);
}

/** A training's loss: four digits tell apart what float32 rounding does not. @param {Number_} value */
export function formatLoss(value) {
  const x = toNumber(value);
  if (x === null) return "–";
  return Number.isFinite(x) ? x.toFixed(4) : nonFinite(x);
}

/** @param {number} x */
function nonFinite(x) {
  if (Number.isNaN(x)) return "NaN";
  return x > 0 ? "inf" : "-inf";
}

/**
 * @param {number} x
 * @param {number} digits after the point
 */
function shortExponent(x, digits) {
  return x.toExponential(digits).replace(/\.?0*e\+?/, "e");
}
