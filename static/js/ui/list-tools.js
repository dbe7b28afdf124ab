// @ts-check
import { countGroups, matcher } from "../check-filter.js";
import { plural } from "../format.js";
import { byId } from "./dom.js";

/** @typedef {import("../check-filter.js").Group} Group */

/** The controls above the list: a filter's text, a status with its count, failures first. */
export class ListTools {
  #text = /** @type {HTMLInputElement} */ (byId("filter"));
  #groups = byId("filter-status");
  #failedFirst = /** @type {HTMLInputElement} */ (byId("failed-first"));
  #none = byId("no-lines");
  #said = byId("filtered");

  /** @param {import("./check-list.js").CheckList} list */
  constructor(list) {
    this.list = list;
    this.#text.addEventListener("input", () => this.#apply());
    this.#text.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") this.#enterList(event);
      if (event.key !== "Escape" || !this.#text.value) return;
      event.preventDefault();
      this.#text.value = "";
      this.#apply();
    });
    this.#groups.addEventListener("change", () => this.#apply());
    this.#failedFirst.addEventListener("change", () => this.#apply());
  }

  /** Where one types. */
  focus() {
    this.#text.focus();
    this.#text.select();
  }

  /**
   * The counts of what the list holds now.
   *
   * @param {readonly import("../checks.js").Entry[]} entries
   */
  count(entries) {
    const counts = countGroups(entries, matcher(this.#text.value));
    for (const { value, labels } of this.#radios()) {
      const count = labels?.[0].querySelector(".count");
      if (count) count.textContent = String(counts[/** @type {Group} */ (value)]);
    }
    this.entries = entries;
    const { size } = this.list;
    this.#none.hidden = size > 0 || !entries.length;
    this.#none.textContent = this.#text.value
      ? `No line fits “${this.#text.value}”. Esc in the filter shows all.`
      : "No line of this kind.";
  }

  /** @type {readonly import("../checks.js").Entry[]} */
  entries = [];

  #radios() {
    return /** @type {NodeListOf<HTMLInputElement>} */ (this.#groups.querySelectorAll("input"));
  }

  #apply() {
    const [checked] = [...this.#radios()].filter((radio) => radio.checked);
    this.list.filter({
      text: this.#text.value,
      group: /** @type {Group} */ (checked.value),
      failedFirst: this.#failedFirst.checked,
    });
    this.count(this.entries);
    this.#said.textContent = `${plural(this.list.size, "line")} shown`;
  }

  /** @param {KeyboardEvent} event */
  #enterList(event) {
    const stop = this.list.body.querySelector("button[tabindex='0']");
    if (!(stop instanceof HTMLElement)) return;
    event.preventDefault();
    stop.focus();
  }
}
