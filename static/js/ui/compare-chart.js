// @ts-check
import { spanOf } from "../comparison.js";
import { formatRatio, toNumber } from "../format.js";
import { formatTime } from "../speed-curves.js";
import { line, scale, svg, text } from "./svg.js";

/** @typedef {import("../compare-session.js").Comparison} Comparison */

/**
 * Two bars an output: |error| / allowed on a log scale, with the bound as a line; below them two
 * bars for the times, with what 20 to 80 % of the samples span.
 */

const LEFT = 44;
const RIGHT = 62;
const BAR = 9;
const ROW = 2 * BAR + 10;
/** Ratios below this are drawn as this. */
const LEAST = 1e-3;
const MOST = 1e3;

export class CompareChart {
  /** @type {Comparison | null} */
  #shown = null;

  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    new ResizeObserver(() => this.#draw()).observe(place);
  }

  /** @param {Comparison} shown */
  show(shown) {
    this.#shown = shown;
    this.#draw();
  }

  #draw() {
    const width = this.place.clientWidth;
    if (width === 0 || !this.#shown) return; // not laid out yet; the observer will tell
    const { sides } = this.#shown;
    const names = [...new Set(sides.flatMap(({ report }) => Object.keys(report?.outputs ?? {})))];
    const ratios = names.map((name) =>
      sides.map(({ report }) => toNumber(report?.outputs[name]?.worst_ratio)),
    );
    const spans = sides.map(({ benches }) => spanOf(benches));
    const timed = spans.some((span) => span !== null);
    const top = 18;
    const timesAt = top + names.length * ROW + 26;
    const height = timed ? timesAt + ROW + 4 : timesAt - 22;
    const figure = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": describe(names, ratios, spans),
    });
    const right = width - RIGHT;
    const highest = Math.max(10, ...ratios.flat().map((one) => clamp(one ?? 0)));
    const x = scale([Math.log10(LEAST), Math.log10(highest)], [LEFT, right]);
    figure.append(text("|error| / allowed", LEFT, 11, "axis-title"));
    for (let power = -3; 10 ** power <= highest; power += 1) {
      const at = x(power);
      const grid = svg("line", { x1: at, x2: at, y1: top, y2: top + names.length * ROW - 4 });
      grid.setAttribute("class", power === 0 ? "goal" : "grid");
      figure.append(grid);
    }
    for (const [n, name] of names.entries()) {
      const y = top + n * ROW;
      figure.append(text(name, LEFT - 6, y + BAR + 4, "tick tick-left"));
      for (const [side, ratio] of ratios[n].entries()) {
        if (ratio === null) continue;
        figure.append(...bar(side, LEFT, x(Math.log10(clamp(ratio))), y, formatRatio(ratio)));
      }
    }
    if (timed) this.#times(figure, spans, timesAt, right);
    this.place.replaceChildren(figure);
  }

  /**
   * @param {SVGElement} figure
   * @param {(import("../comparison.js").Span | null)[]} spans
   * @param {number} y
   * @param {number} right
   */
  #times(figure, spans, y, right) {
    const most = Math.max(...spans.map((span) => span?.high ?? 0));
    const x = scale([0, most], [LEFT, right]);
    figure.append(text("time", LEFT, y - 7, "axis-title"));
    for (const [side, span] of spans.entries()) {
      if (!span) continue;
      const middle = y + side * (BAR + 1) + BAR / 2;
      figure.append(...bar(side, LEFT, x(span.median), y, formatTime(span.median), x(span.high)));
      figure.append(line(x(span.low), x(span.high), middle, "compare-span"));
    }
  }
}

/**
 * @param {number} side  0 = A, 1 = B
 * @param {number} from
 * @param {number} to
 * @param {number} y     of the pair
 * @param {string} says
 * @param {number} [end]  where the words may begin, if not at the bar's end
 */
function bar(side, from, to, y, says, end = to) {
  const at = y + side * (BAR + 1);
  const shape = svg("rect", { x: from, y: at, width: Math.max(1, to - from), height: BAR });
  shape.setAttribute("class", `series-${side} compare-bar${side ? " compare-b" : ""}`);
  return [shape, text(says, end + 4, at + BAR - 1, "compare-number")];
}

/** @param {number} ratio */
function clamp(ratio) {
  return Number.isNaN(ratio) ? MOST : Math.min(MOST, Math.max(LEAST, ratio));
}

/**
 * @param {string[]} names
 * @param {(number | null)[][]} ratios
 * @param {(import("../comparison.js").Span | null)[]} spans
 */
function describe(names, ratios, spans) {
  const errors = names.map((name, n) => `${name} ${ratios[n].map(formatRatio).join(" and ")}`);
  const times = spans.map((span) => (span ? formatTime(span.median) : "not timed"));
  return `Errors of A and B: ${errors.join("; ")}. Times: ${times.join(" and ")}.`;
}
