// @ts-check
import { curvesOf } from "../train-curves.js";
import { line, scale, svg, text } from "./svg.js";

/**
 * Losses over steps as an SVG: the page's curve thin, on the wide one of NumPy, so that both are
 * seen where they agree. A drift gate has a second panel, how far the two are apart.
 *
 * Sizes are CSS pixels, drawn anew for each width: scaled text would be unreadable on a phone.
 */

/** @typedef {import("../train-curves.js").Curves} Curves */
/** @typedef {import("../train-curves.js").Point} Point */
/** @typedef {import("./svg.js").Scale} Scale */

const LEFT = 54;
const RIGHT = 16;
const LOSS_HEIGHT = 210;
const APART_HEIGHT = 84;
const GAP = 34;
const BELOW = 36;

/** The relative difference is drawn between these powers of ten. */
const LEAST = -9;
const MOST = 0;

export class LossChart {
  /** @type {Curves} */
  #curves = curvesOf({ steps: 1, losses: [], twin: [], gate: "none" });

  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    new ResizeObserver(() => this.#draw()).observe(place);
  }

  /** @param {Curves} curves */
  show(curves) {
    this.#curves = curves;
    this.#draw();
  }

  #draw() {
    const width = this.place.clientWidth;
    if (width === 0) return; // not laid out yet; the observer will tell
    const curves = this.#curves;
    const height = LOSS_HEIGHT + BELOW + (curves.compared ? GAP + APART_HEIGHT : 0);
    const x = scale([1, Math.max(curves.steps, 2)], [LEFT, width - RIGHT]);
    const figure = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": curves.summary,
    });
    figure.append(...lossPanel(curves, x, width));
    if (curves.compared) figure.append(...apartPanel(curves, x, width, LOSS_HEIGHT + GAP));
    figure.append(...stepAxis(curves.steps, x, height - BELOW));
    this.place.replaceChildren(figure);
  }
}

/**
 * @param {Curves} curves
 * @param {Scale} x
 * @param {number} width
 */
function lossPanel({ page, twin, most, goal }, x, width) {
  const y = scale([0, most], [LOSS_HEIGHT, 22]);
  /** @type {SVGElement[]} */
  const parts = [text("loss, nats a byte", LEFT, 12, "axis-title")];
  for (let n = 0; n <= most; n++) {
    parts.push(line(LEFT, width - RIGHT, y(n), n === 0 ? "axis" : "grid"));
    parts.push(text(String(n), LEFT - 6, y(n) + 4, "tick tick-left"));
  }
  if (goal !== null) {
    parts.push(line(LEFT, width - RIGHT, y(goal), "goal"));
    parts.push(text(`the gate: under ${goal}`, width - RIGHT, y(goal) - 5, "tick tick-right"));
  }
  parts.push(curve(twin, x, y, "curve-twin"), curve(page, x, y, "curve-page"));
  return parts;
}

/**
 * @param {Curves} curves
 * @param {Scale} x
 * @param {number} width
 * @param {number} top
 */
function apartPanel({ apart, allowed, judgedAfter }, x, width, top) {
  const y = scale([LEAST, MOST], [top + APART_HEIGHT, top]);
  const power = (/** @type {number} */ value) =>
    Math.min(MOST, Math.max(LEAST, Math.log10(value || 10 ** LEAST)));
  /** @type {SVGElement[]} */
  const parts = [text("|page − NumPy| / NumPy", LEFT, top - 8, "axis-title")];
  for (const [exponent, label] of /** @type {[number, string][]} */ ([
    [0, "100 %"],
    [-3, "0.1 %"],
    [-6, "10⁻⁴ %"],
    [LEAST, "10⁻⁷ %"],
  ])) {
    parts.push(line(LEFT, width - RIGHT, y(exponent), exponent === LEAST ? "axis" : "grid"));
    parts.push(text(label, LEFT - 4, y(exponent) + 4, "tick tick-left"));
  }
  parts.push(line(x(judgedAfter + 1), width - RIGHT, y(power(allowed)), "goal"));
  const says = `the gate: under ${100 * allowed} %, after step ${judgedAfter}`;
  parts.push(text(says, width - RIGHT, y(power(allowed)) + 13, "tick tick-right"));
  const points = apart.map(({ step, value }) => ({ step, value: power(value) }));
  parts.push(curve(points, x, y, "curve-page"));
  return parts;
}

/**
 * @param {number} steps
 * @param {Scale} x
 * @param {number} y
 */
function stepAxis(steps, x, y) {
  const marks = ticks(steps);
  return [
    ...marks.map((step) => text(String(step), x(step), y + 15, "tick")),
    text("step", x(marks[marks.length - 1]), y + 30, "axis-title axis-title-right"),
  ];
}

/**
 * A handful of whole numbers from 1 to the last step.
 *
 * @param {number} steps
 */
export function ticks(steps) {
  if (steps < 2) return [1];
  const size = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000].find(
    (n) => steps <= 6 * n,
  );
  const every = size ?? Math.ceil(steps / 6);
  const marks = [1];
  for (let step = every; step <= steps; step += every) if (step > 1) marks.push(step);
  return marks;
}

/**
 * One line through the points, broken where there is no finite number; a single point is a dot.
 *
 * @param {readonly Point[]} points
 * @param {Scale} x
 * @param {Scale} y
 * @param {string} name
 */
function curve(points, x, y, name) {
  let path = "";
  let pen = "M";
  for (const { step, value } of points) {
    if (!Number.isFinite(value)) {
      pen = "M";
      continue;
    }
    const at = `${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
    path += pen === "M" ? `M${at}L${at}` : `L${at}`;
    pen = "L";
  }
  return svg("path", { class: name, d: path });
}
