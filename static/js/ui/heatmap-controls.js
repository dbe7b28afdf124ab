// @ts-check
import { h } from "./dom.js";
import { VIEW_NAMES } from "./heatmap-views.js";

/** @typedef {import("./heatmap-views.js").ViewName} ViewName */

/**
 * @typedef {object} Listeners
 * @property {(b: number, h: number) => void} onHead
 * @property {() => void} onLook  another view, or with or without tiles
 * @property {(factor: number) => void} onZoom  0 = show all
 */

/** What stands over a heat map: view, head, tiles and zoom. */
export class HeatMapControls {
  /** @type {ViewName} */
  view = "ratio";
  #batch = h("select", { id: "heatmap-b" });
  #head = h("select", { id: "heatmap-h" });
  #tiles = h("input", { type: "checkbox", id: "heatmap-tiles", checked: true });
  #axes = h("span", { class: "term" });

  /** @param {Listeners} listeners */
  constructor({ onHead, onLook, onZoom }) {
    const choose = () => onHead(Number(this.#batch.value), Number(this.#head.value));
    this.#batch.addEventListener("change", choose);
    this.#head.addEventListener("change", choose);
    this.#tiles.addEventListener("change", onLook);
    const views = /** @type {[ViewName, string][]} */ (Object.entries(VIEW_NAMES));
    this.element = h(
      "div",
      { class: "row heatmap-controls" },
      h(
        "fieldset",
        { class: "segmented" },
        h("legend", {}, "Show"),
        ...views.map(([name, text]) =>
          this.#choice(name, text, () => {
            this.view = name;
            onLook();
          }),
        ),
      ),
      h("label", {}, "b ", this.#batch),
      h("label", {}, "h ", this.#head),
      h("label", { class: "check" }, this.#tiles, " tile grid"),
      h(
        "span",
        { class: "actions", role: "group", "aria-label": "Zoom" },
        button("−", "Zoom out", () => onZoom(1 / 2)),
        button("+", "Zoom in", () => onZoom(2)),
        button("All", "All of the head", () => onZoom(0)),
      ),
      this.#axes,
    );
  }

  get tiles() {
    return this.#tiles.checked;
  }

  /** @param {import("./heatmap-grid.js").Grid} grid */
  show({ batches, b, heads, h: head, rowAxis, columnAxis }) {
    count(this.#batch, batches, b);
    count(this.#head, heads, head);
    this.#axes.textContent = [rowAxis && `${rowAxis} ↓`, `${columnAxis} →`]
      .filter(Boolean)
      .join("  ");
  }

  /**
   * @param {ViewName} name
   * @param {string} text
   * @param {() => void} onChoose
   */
  #choice(name, text, onChoose) {
    const radio = h("input", {
      type: "radio",
      name: "heatmap-view",
      value: name,
      checked: name === this.view,
    });
    radio.addEventListener("change", onChoose);
    return h("label", {}, radio, h("span", {}, text));
  }
}

/**
 * @param {string} text
 * @param {string} label
 * @param {() => void} onClick
 */
function button(text, label, onClick) {
  const element = h("button", { type: "button", class: "small", "aria-label": label }, text);
  element.addEventListener("click", onClick);
  return element;
}

/**
 * @param {HTMLSelectElement} select
 * @param {number} options
 * @param {number} chosen
 */
function count(select, options, chosen) {
  if (select.options.length !== options) {
    select.replaceChildren(
      ...Array.from({ length: options }, (_, n) => h("option", {}, String(n))),
    );
  }
  select.value = String(chosen);
  select.disabled = options === 1;
}
