// @ts-check

/**
 * Colours for |error| / allowed: viridis over the logarithm, with a step at 1.
 *
 * Lightness rises all the way, so the order survives colour blindness and grey print, and the
 * step makes the limit visible inside a picture that is otherwise smooth. Cells over the limit
 * are hatched as well (heatmap-paint.js): colour never says it alone.
 */

/** Ratios at and beyond these ends share the end's colour. */
export const LOWEST = 1e-3;
export const HIGHEST = 1e3;

/** Where the limit lies on the scale: below it ends here … */
const BELOW_END = 0.52;
/** … and above it starts here. */
const ABOVE_START = 0.74;

/** Viridis (Smith and van der Walt, CC0), every tenth of the way. */
const VIRIDIS = [
  [68, 1, 84],
  [72, 36, 117],
  [65, 68, 135],
  [53, 95, 141],
  [42, 120, 142],
  [33, 145, 140],
  [34, 168, 132],
  [68, 191, 112],
  [122, 209, 81],
  [189, 223, 38],
  [253, 231, 37],
];

/** @typedef {[number, number, number]} Rgb 0 to 255 */

/** A value that is no number: outside the scale, and not on it. @type {Rgb} */
export const NO_NUMBER = [255, 255, 255];

/** An infinite value. @type {Rgb} */
export const INFINITE = [255, 92, 205];

/** From blue over almost white to orange: two hues that colour-blind people tell apart. */
const DIVERGING = [
  [8, 48, 107],
  [49, 117, 181],
  [142, 188, 219],
  [243, 243, 243],
  [250, 179, 120],
  [217, 98, 14],
  [112, 40, 4],
];

/**
 * A signed value around zero.
 *
 * @param {number} position -1 to 1; beyond, the end's colour
 * @returns {Rgb}
 */
export function diverging(position) {
  return between(DIVERGING, (Math.min(Math.max(position, -1), 1) + 1) / 2);
}

/**
 * Where a ratio lies on the scale, 0 to 1.
 *
 * @param {number} ratio
 */
export function scalePosition(ratio) {
  const decades = Math.log10(Math.min(Math.max(ratio, LOWEST), HIGHEST));
  if (ratio <= 1) return BELOW_END * (1 - decades / Math.log10(LOWEST));
  return ABOVE_START + (1 - ABOVE_START) * (decades / Math.log10(HIGHEST));
}

/**
 * @param {number} ratio |error| / allowed, NaN where either is no number
 * @returns {Rgb}
 */
export function colourOf(ratio) {
  return Number.isNaN(ratio) ? NO_NUMBER : viridis(scalePosition(ratio));
}

/**
 * @param {number} position 0 to 1
 * @returns {Rgb}
 */
function viridis(position) {
  return between(VIRIDIS, position);
}

/**
 * @param {number[][]} anchors evenly spaced
 * @param {number} position 0 to 1
 * @returns {Rgb}
 */
function between(anchors, position) {
  const x = position * (anchors.length - 1);
  const low = Math.min(Math.floor(x), anchors.length - 2);
  const channel = (/** @type {number} */ c) => {
    const from = anchors[low][c];
    return Math.round(from + (x - low) * (anchors[low + 1][c] - from));
  };
  return [channel(0), channel(1), channel(2)];
}
