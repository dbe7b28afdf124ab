// @ts-check
import { h } from "../ui/dom.js";
import { line, scale, svg, text } from "../ui/svg.js";
import { logShare } from "./curves.js";

/** @typedef {import("./curves.js").Drawing} Drawing */
/** @typedef {import("./curves.js").Point} Point */
/** @typedef {import("./curves.js").Row} Row */

const LEFT = 58;
const RIGHT = 14;
const TOP = 22;
const HEIGHT = 170;
const BELOW = 8;
/** As many colours as style.css has. */
const STYLES = 6;
const MARK = 3.5;
/** How far from a point the pointer may be. */
const REACH = 24;

/**
 * A measure of runs over their order as an SVG with a logarithmic axis.
 *
 * One stop for the keyboard: ← and → go from run to run, Enter opens one.
 */
export class Plot {
  /** @type {Drawing | null} */
  #drawing = null;
  /** @type {{x: number, y: number, point: Point}[]} oldest first */
  #places = [];
  #current = -1;
  #ring = svg("circle", { class: "ring", r: MARK + 4, cx: 0, cy: 0, visibility: "hidden" });

  /**
   * @param {object} parts
   * @param {string} parts.title
   * @param {(value: number) => string} parts.tick
   * @param {(row: Row) => string} parts.say   a run in a line
   * @param {(run: string) => void} parts.onChoose
   * @param {number} [parts.limit]  a value with a line of its own
   */
  constructor({ title, tick, say, onChoose, limit }) {
    this.tick = tick;
    this.say = say;
    this.onChoose = onChoose;
    this.limit = limit;
    this.title = title;
    this.place = h("div", {
      class: "chart history-chart",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "plot",
      "aria-label": title,
    });
    this.readout = h("p", { class: "hint history-readout", role: "status" });
    this.element = h("figure", {}, h("h3", {}, title), this.place, this.readout);
    new ResizeObserver(() => this.#draw()).observe(this.place);
    this.place.addEventListener("keydown", (event) => this.#key(event));
    this.place.addEventListener("pointermove", (event) => this.#point(event));
    this.place.addEventListener("click", (event) => {
      this.#point(event);
      this.#choose();
    });
    this.place.addEventListener("focus", () => {
      if (this.#current < 0) this.#show(this.#places.length - 1);
    });
  }

  /** @param {Drawing} drawing */
  show(drawing) {
    this.#drawing = drawing;
    this.#current = -1;
    this.place.setAttribute("aria-label", `${drawing.summary} ← and → go from run to run.`);
    this.readout.textContent = drawing.summary;
    this.#draw();
  }

  #draw() {
    const drawing = this.#drawing;
    const width = this.place.clientWidth;
    if (width === 0 || !drawing) return; // not laid out yet; the observer will tell
    const height = HEIGHT + BELOW;
    const figure = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    figure.setAttribute("aria-hidden", "true"); // the label and the readout say it in words
    const share = logShare(drawing.range);
    const along = scale([0, 1], [HEIGHT, TOP]);
    const y = (/** @type {number} */ value) => along(share(value));
    const ends = /** @type {[number, number]} */ ([LEFT + 12, width - RIGHT - 12]);
    const x = scale([0, Math.max(1, drawing.count - 1)], ends);
    for (const tick of drawing.ticks) {
      figure.append(line(LEFT, width - RIGHT, y(tick), "grid"));
      figure.append(text(this.tick(tick), LEFT - 6, y(tick) + 4, "tick tick-left"));
    }
    if (this.limit !== undefined) {
      figure.append(line(LEFT, width - RIGHT, y(this.limit), "goal"));
      figure.append(text("limit", width - RIGHT, y(this.limit) - 5, "tick tick-right"));
    }
    this.#places = [];
    for (const { style, points } of drawing.curves) {
      const name = `series-${style % STYLES}`;
      const at = points.map((point) => ({ x: x(point.n), y: y(point.value), point }));
      const d = `M${at.map((p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("L")}`;
      if (at.length > 1) figure.append(svg("path", { class: name, d }));
      for (const p of at) figure.append(mark(p.x, p.y, p.point, name));
      this.#places.push(...at);
    }
    this.#places.sort((a, b) => a.point.n - b.point.n);
    figure.append(this.#ring);
    this.place.replaceChildren(figure);
    if (this.#current >= 0) this.#show(this.#current);
    else this.#ring.setAttribute("visibility", "hidden");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.#places.length - 1;
    const steps = /** @type {Record<string, number>} */ ({
      ArrowLeft: Math.max(0, this.#current - 1),
      ArrowRight: Math.min(last, this.#current + 1),
      Home: 0,
      End: last,
    });
    if (event.key in steps && last >= 0) this.#show(steps[event.key]);
    else if (event.key === "Enter") this.#choose();
    else return;
    event.preventDefault();
  }

  /** @param {PointerEvent | MouseEvent} event */
  #point(event) {
    const box = this.place.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let least = REACH;
    for (const [n, { x, y }] of this.#places.entries()) {
      const distance = Math.hypot(x - px, y - py);
      if (distance < least) [best, least] = [n, distance];
    }
    if (best >= 0) this.#show(best);
  }

  #choose() {
    const found = this.#places[this.#current];
    if (found) this.onChoose(found.point.row.run);
  }

  /** @param {number} n */
  #show(n) {
    const found = this.#places[n];
    if (!found) return;
    this.#current = n;
    this.#ring.setAttribute("cx", String(found.x));
    this.#ring.setAttribute("cy", String(found.y));
    this.#ring.setAttribute("visibility", "visible");
    this.readout.textContent = this.say(found.point.row);
  }
}

/**
 * A dot for what is right, a cross for what is not, an arrow for what is off the axis: the shape
 * says what the colour does not.
 *
 * @param {number} x
 * @param {number} y
 * @param {Point} point
 * @param {string} name
 */
function mark(x, y, { row, beyond }, name) {
  if (beyond) {
    const d = `M${x - MARK - 1} ${y + MARK}L${x} ${y - MARK}L${x + MARK + 1} ${y + MARK}Z`;
    return svg("path", { class: `${name} mark beyond`, d });
  }
  if (["pass", "timed"].includes(row.status)) {
    return svg("circle", { class: `${name} mark`, cx: x, cy: y, r: MARK });
  }
  const [a, b] = [x - MARK, x + MARK];
  const d = `M${a} ${y - MARK}L${b} ${y + MARK}M${a} ${y + MARK}L${b} ${y - MARK}`;
  return svg("path", { class: `${name} mark`, d });
}
