// @ts-check
import { formatRatio, plural, toNumber } from "../format.js";
import { colourOf } from "./colormap.js";
import { h } from "./dom.js";

/** More heads than this would be a wall of buttons; the two fields beside the map have them all. */
const MOST = 256;

/** All heads of an output at a glance: the worst of each; one is chosen for the heat map. */
export class HeadStrip {
  element = h("div", { class: "heads", role: "group", "aria-label": "Heads, the worst of each" });
  /** @type {Map<string, HTMLButtonElement>} */
  #buttons = new Map();
  #onHead;

  /** @param {(b: number, h: number) => void} onHead */
  constructor(onHead) {
    this.#onHead = onHead;
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {import("./anatomy-numbers.js").Anatomy["heads"]} heads */
  show({ worst, wrong }) {
    this.#buttons.clear();
    const rows = worst.map((row, b) => row.map((ratio, head) => ({ b, head, ratio })));
    const all = rows.flat().slice(0, MOST);
    for (const { b, head, ratio } of all) {
      this.#buttons.set(`${b},${head}`, this.#button(b, head, ratio, wrong[b][head]));
    }
    const left = rows.flat().length - all.length;
    this.element.replaceChildren(
      ...this.#buttons.values(),
      ...(left ? [h("span", { class: "hint" }, `and ${left} more`)] : []),
    );
    this.element.hidden = rows.flat().length < 2;
  }

  /**
   * @param {number} b
   * @param {number} head
   */
  mark(b, head) {
    for (const [key, button] of this.#buttons) {
      const chosen = key === `${b},${head}`;
      button.setAttribute("aria-pressed", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
    if (!this.#buttons.has(`${b},${head}`)) {
      const first = this.#buttons.values().next().value;
      if (first) first.tabIndex = 0;
    }
  }

  /**
   * @param {number} b
   * @param {number} head
   * @param {import("../format.js").Number_} ratio
   * @param {number | null} wrong
   */
  #button(b, head, ratio, wrong) {
    const bad = (wrong ?? 0) > 0;
    const says =
      ratio === null
        ? "not judged"
        : `worst ${formatRatio(ratio)} of what is allowed, ${plural(wrong ?? 0, "wrong element")}`;
    const button = h(
      "button",
      {
        type: "button",
        class: "head",
        tabindex: -1,
        title: `batch ${b}, head ${head}: ${says}`,
        "data-status": ratio === null ? null : bad ? "fail" : "pass",
      },
      h("span", { class: "head-name" }, `b${b} h${head} `),
      h("span", { class: "head-worst" }, `${bad ? "✗ " : ""}${formatRatio(ratio)}`),
    );
    const value = toNumber(ratio);
    if (value !== null) {
      button.style.setProperty("--heat", `rgb(${colourOf(Math.min(value, 1e30)).join(" ")})`);
    }
    button.addEventListener("click", () => this.#onHead(b, head));
    return button;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const all = [...this.#buttons.values()];
    const at = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const next = all[at + step];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
    next.click();
  }
}
