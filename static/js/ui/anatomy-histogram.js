// @ts-check
import { binsOf } from "./anatomy-numbers.js";
import { h } from "./dom.js";
import { line, svg, text } from "./svg.js";

/** @typedef {import("./anatomy-numbers.js").Ulps} Ulps */

const LEFT = 44;
const HEIGHT = 120;
const BELOW = 34;
const TOP = 18;

/**
 * The error of all elements in units in the last place: bars for powers of two, and for NaN and
 * inf. Counts go from one to millions, so their axis is logarithmic; the table has them exactly.
 */
export class UlpHistogram {
  /** @type {ReturnType<typeof binsOf>} */
  #bins = [];
  #place = h("div", { class: "chart" });
  #rows = h("tbody");

  element = h(
    "section",
    { class: "anatomy-part", "aria-label": "Histogram of the error in ULPs" },
    h("h3", {}, "Error in ULPs"),
    this.#place,
    h(
      "details",
      {},
      h("summary", {}, "As a table"),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "ULPs"),
            h("th", { scope: "col", class: "number" }, "Elements"),
          ),
        ),
        this.#rows,
      ),
    ),
  );

  constructor() {
    new ResizeObserver(() => this.#draw()).observe(this.#place);
  }

  /** @param {Ulps} ulps */
  show(ulps) {
    this.#bins = binsOf(ulps);
    this.#rows.replaceChildren(
      ...this.#bins.map(({ label, count }) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, label),
          h("td", { class: "number" }, count.toLocaleString("en")),
        ),
      ),
    );
    this.#draw();
  }

  #draw() {
    const width = this.#place.clientWidth;
    if (!width || !this.#bins.length) return;
    const bins = this.#bins;
    const most = Math.max(1, Math.ceil(Math.log10(Math.max(...bins.map(({ count }) => count), 1))));
    const y = (/** @type {number} */ count) =>
      TOP + HEIGHT * (1 - (count ? Math.max(Math.log10(count), 0.08) / most : 0));
    const step = (width - LEFT) / bins.length;
    const figure = svg("svg", {
      width,
      height: TOP + HEIGHT + BELOW,
      role: "img",
      "aria-label": summary(bins),
    });
    figure.append(text("elements (log)", 0, 11, "axis-title"));
    for (let power = 0; power <= most; power += Math.max(1, Math.ceil(most / 4))) {
      const at = y(10 ** power);
      if (power > 0) figure.append(line(LEFT, width, at, "grid"));
      const label = power < 4 ? String(10 ** power) : `1e${power}`;
      if (power > 0) figure.append(text(label, LEFT - 5, at + 4, "tick-left"));
    }
    figure.append(line(LEFT, width, TOP + HEIGHT, "axis"));
    const every = Math.max(1, Math.ceil(34 / step));
    bins.forEach(({ label, count, kind }, n) => {
      const x = LEFT + n * step;
      const bar = svg("rect", {
        class: `column column-${kind}`,
        x: x + 1,
        y: y(count),
        width: Math.max(step - 2, 1),
        height: TOP + HEIGHT - y(count),
      });
      const title = svg("title", {});
      title.textContent = `${label} ULP: ${count.toLocaleString("en")} elements`;
      bar.append(title);
      figure.append(bar);
      const roomy = n % every === 0 && n < bins.length - 2 - every / 2;
      if (kind !== "number" || roomy) {
        const short = kind === "number" ? label.split("–")[0].replace(" …", "") : label;
        figure.append(text(short, x + step / 2, TOP + HEIGHT + 14, "tick"));
      }
    });
    figure.append(text("steps between actual and expected", LEFT, TOP + HEIGHT + 30, "axis-title"));
    this.#place.replaceChildren(figure);
  }
}

/** @param {ReturnType<typeof binsOf>} bins */
function summary(bins) {
  const largest = bins.reduce((a, b) => (b.count > a.count ? b : a));
  const far = bins.findLast(({ count, kind }) => count > 0 && kind === "number");
  const [inf, nan] = [bins[bins.length - 2].count, bins[bins.length - 1].count];
  return (
    `most elements (${largest.count}) are ${largest.label} ULPs off, the furthest ` +
    `${far?.label ?? "–"}; ${inf} infinite, ${nan} NaN`
  );
}
