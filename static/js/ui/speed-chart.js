// @ts-check
import { speedCurves } from "../speed-curves.js";
import { line, scale, svg, text } from "./svg.js";

/** TFLOP/s over the length of the sequence as an SVG, with a line for each peak. */

/** @typedef {import("../speed-curves.js").SpeedCurves} SpeedCurves */

const LEFT = 54;
const RIGHT = 16;
const TOP = 24;
const HEIGHT = 250;
const BELOW = 36;
/** As many styles as speed.css has. */
const STYLES = 6;
/** Between two numbers on the axis of lengths. */
const TICK_WIDTH = 52;

export class SpeedChart {
  /** @type {SpeedCurves} */
  #curves = speedCurves([]);

  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    new ResizeObserver(() => this.#draw()).observe(place);
  }

  /** @param {SpeedCurves} curves */
  show(curves) {
    this.#curves = curves;
    this.#draw();
  }

  #draw() {
    const width = this.place.clientWidth;
    if (width === 0) return; // not laid out yet; the observer will tell
    const { series, peaks, lengths, most, ticks, summary } = this.#curves;
    const height = HEIGHT + BELOW;
    const figure = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": summary,
    });
    const y = scale([0, most], [HEIGHT, TOP]);
    figure.append(text("TFLOP/s", LEFT, 12, "axis-title"));
    for (const tick of ticks) {
      figure.append(line(LEFT, width - RIGHT, y(tick), tick === 0 ? "axis" : "grid"));
      figure.append(text(String(tick), LEFT - 6, y(tick) + 4, "tick tick-left"));
    }
    for (const { name, tflops } of peaks) {
      const says = `${name} ${Number(tflops.toPrecision(3))}`;
      figure.append(line(LEFT, width - RIGHT, y(tflops), "goal"));
      figure.append(text(says, width - RIGHT, y(tflops) - 5, "tick tick-right"));
    }
    const x = lengthScale(lengths, width);
    const every = Math.ceil((lengths.length * TICK_WIDTH) / (width - LEFT - RIGHT));
    for (const [n, T] of lengths.entries()) {
      if (n % every === 0) figure.append(text(String(T), x(T), HEIGHT + 15, "tick"));
    }
    figure.append(text("T", width - RIGHT, HEIGHT + 30, "axis-title axis-title-right"));
    for (const [n, { points, backward }] of series.entries()) {
      const style = styleOf(n, backward);
      const at = points.map(({ T, tflops }) => `${x(T).toFixed(1)} ${y(tflops).toFixed(1)}`);
      figure.append(svg("path", { class: style, d: `M${at.join("L")}` }));
      for (const { T, tflops } of points) {
        figure.append(svg("circle", { class: style, cx: x(T), cy: y(tflops), r: 3.5 }));
      }
    }
    this.place.replaceChildren(figure);
  }
}

/**
 * A series' classes: a colour of its own, and dashes for a backward.
 *
 * @param {number} n
 * @param {boolean} backward
 */
export function styleOf(n, backward) {
  return `speed-${n % STYLES}${backward ? " speed-backward" : ""}`;
}

/**
 * Powers of two at equal distances; a single one in the middle.
 *
 * @param {number[]} lengths
 * @param {number} width
 * @returns {(T: number) => number}
 */
function lengthScale(lengths, width) {
  const room = 20; // for the first and the last number
  const ends = /** @type {[number, number]} */ ([LEFT + room, width - RIGHT - room]);
  if (lengths.length < 2) return () => (ends[0] + ends[1]) / 2;
  const log = scale([Math.log2(lengths[0]), Math.log2(lengths[lengths.length - 1])], ends);
  return (T) => log(Math.log2(T));
}
