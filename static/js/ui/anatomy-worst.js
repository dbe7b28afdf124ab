// @ts-check
import { formatRatio, formatTolerance, formatValue } from "../format.js";
import { formatUlp } from "./anatomy-numbers.js";
import { h } from "./dom.js";

/** @typedef {import("./anatomy-numbers.js").Worst} Worst */

const HEADS = ["At", "Tile", "Actual", "Expected", "Allowed", "Ratio", "ULP"];

/** The ten worst elements of an output; choosing one moves the heat map there. */
export class WorstTable {
  #rows = h("tbody");
  #onChoose;

  element = h(
    "section",
    { class: "anatomy-part", "aria-label": "The ten worst elements" },
    h("h3", {}, "Worst ten"),
    h(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": "The ten worst elements, a table",
      },
      h(
        "table",
        { class: "worst" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...HEADS.map((head, n) =>
              h("th", { scope: "col", class: n > 0 ? "number" : null }, head),
            ),
          ),
        ),
        this.#rows,
      ),
    ),
  );

  /** @param {(worst: Worst) => void} onChoose */
  constructor(onChoose) {
    this.#onChoose = onChoose;
  }

  /** @param {Worst[]} all */
  show(all) {
    this.#rows.replaceChildren(...all.map((worst) => this.#row(worst)));
  }

  /** @param {Worst} worst */
  #row(worst) {
    const place = Object.entries(worst.index).map(([axis, n]) => `${axis}=${n}`);
    const button = h("button", { type: "button", class: "quiet small" }, place.join(" "));
    button.addEventListener("click", () => this.#onChoose(worst));
    const cells = [
      Object.values(worst.tile).join(", ") || "–",
      formatValue(worst.actual),
      formatValue(worst.expected),
      `±${formatTolerance(worst.allowed)}`,
      formatRatio(worst.ratio),
      formatUlp(worst.ulp),
    ];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, button),
      ...cells.map((cell) => h("td", { class: "number" }, cell)),
    );
  }
}
