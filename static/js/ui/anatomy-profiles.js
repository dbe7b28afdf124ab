// @ts-check
import { toNumber } from "../format.js";
import { PLACES, profileSummary } from "./anatomy-numbers.js";
import { h } from "./dom.js";
import { line, svg, text } from "./svg.js";

/** @typedef {import("./anatomy-numbers.js").Profile} Profile */
/** @typedef {import("../format.js").Number_} Number_ */

const LEFT = 52;
const TOP = 16;
const HEIGHT = 92;
const TILES = 14;
const BELOW = 30;

/** Ratios are drawn between these powers of ten. */
const LOWEST = -3;
const HIGHEST = 4;

/** The error along each axis of a head, over all heads: where rows, keys or channels go wrong. */
export class Profiles {
  /** @type {Profile[]} */
  #profiles = [];
  #places = h("div", { class: "profiles" });
  #note = h("p", { class: "hint" });

  element = h(
    "section",
    { class: "anatomy-part anatomy-wide", "aria-label": "Error along the axes" },
    h("h3", {}, "Along the axes, all heads together"),
    this.#places,
    this.#note,
  );

  constructor() {
    new ResizeObserver(() => this.#draw()).observe(this.#places);
  }

  /** @param {import("./anatomy-numbers.js").Anatomy} anatomy */
  show({ output, profiles, axes }) {
    this.#profiles = profiles;
    this.#note.textContent = axes.includes("j")
      ? ""
      : `${output} adds up over the keys, so its values do not tell which key tile an error came ` +
        "from; the trace does, and so do attn, dk and dv, which have a key axis.";
    this.#note.hidden = axes.includes("j");
    this.#draw();
  }

  #draw() {
    const places = this.#profiles.map((profile) => {
      const name = h("figcaption", { class: "term" }, `by ${PLACES[profile.axis][0]}`);
      return { profile, name, figure: h("figure", { class: "chart" }, name) };
    });
    this.#places.replaceChildren(...places.map(({ figure }) => figure));
    if (!this.#places.clientWidth) return; // not laid out yet; the observer will tell
    for (const { profile, name, figure } of places) {
      name.after(drawing(profile, figure.clientWidth));
      figure.append(h("p", { class: "hint" }, profileSummary(profile)));
    }
  }
}

/**
 * @param {Profile} profile
 * @param {number} width
 */
function drawing(profile, width) {
  const { at, worst, wrong, tile, tiles } = profile;
  const height = TOP + HEIGHT + (tiles ? TILES + 4 : 0) + BELOW;
  const figure = svg("svg", {
    width,
    height,
    role: "img",
    "aria-label": `worst |error| over allowed by ${PLACES[profile.axis][0]}: ${profileSummary(profile)}`,
  });
  const step = (width - LEFT) / at.length;
  const y = (/** @type {Number_} */ ratio) => {
    const power = Math.log10(Math.max(toNumber(ratio) ?? 0, 10 ** LOWEST));
    return TOP + HEIGHT * (1 - (Math.min(power, HIGHEST) - LOWEST) / (HIGHEST - LOWEST));
  };
  for (const [power, label] of /** @type {[number, string][]} */ ([
    [LOWEST, "≤ 10⁻³"],
    [2, "100"],
    [HIGHEST, "≥ 10⁴"],
  ])) {
    figure.append(line(LEFT, width, y(10 ** power), power === LOWEST ? "axis" : "grid"));
    figure.append(text(label, LEFT - 4, y(10 ** power) + 4, "tick-left"));
  }
  at.forEach((_, n) => {
    const top = y(worst[n]);
    figure.append(
      svg("rect", {
        class: wrong[n] > 0 ? "column column-wrong" : "column",
        x: LEFT + n * step,
        y: top,
        width: Math.max(step - (step > 3 ? 1 : 0), 0.5),
        height: Math.max(TOP + HEIGHT - top, 0.5),
      }),
    );
  });
  figure.append(line(LEFT, width, y(1), "goal"));
  figure.append(text("limit", LEFT - 4, y(1) + 4, "tick-left"));
  if (tile && tiles) figure.append(...tileRow(profile, step, width));
  const below = height - 18;
  const last = at.length - 1;
  for (const n of last > 0 ? [0, Math.floor(last / 2), last] : [0]) {
    const name = n === 0 ? "tick-first" : n === last ? "tick-right" : "tick";
    const x = n === 0 ? LEFT : n === last ? width : LEFT + (n + 0.5) * step;
    figure.append(text(String(at[n]), x, below + 4, name));
  }
  return figure;
}

/**
 * The same by tile: a box for each, crossed out where it holds a wrong element.
 *
 * @param {Profile} profile
 * @param {number} step  pixels a place
 * @param {number} width
 */
function tileRow({ at, tile, tiles, axis }, step, width) {
  const top = TOP + HEIGHT + 4;
  return (tiles?.at ?? []).flatMap((number, n) => {
    const starts = at.findIndex((place) => Math.floor(place / tile) >= number);
    const after = at.findIndex((place) => Math.floor(place / tile) > number);
    const x = LEFT + Math.max(starts, 0) * step;
    const right = after < 0 ? width : LEFT + after * step;
    const count = tiles?.wrong[n] ?? 0;
    const box = { x: x + 0.5, y: top, width: Math.max(right - x - 1, 0.5), height: TILES };
    const cell = svg("rect", { class: count ? "tile tile-wrong" : "tile", ...box });
    const title = svg("title", {});
    title.textContent = `${axis === "i" ? "query" : "key"} tile ${number}: ${count} wrong elements`;
    cell.append(title);
    const room = box.width >= 14;
    const mark = count ? "✗" : "✓";
    return room ? [cell, text(mark, x + box.width / 2, top + TILES - 3, "tick")] : [cell];
  });
}
