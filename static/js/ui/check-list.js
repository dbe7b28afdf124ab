// @ts-check
import { inGroup, isWrong, matcher } from "../check-filter.js";
import { checksOf, lineOf, STATUS_MARK, STATUS_WORD } from "../checks.js";
import { formatRatio, toNumber } from "../format.js";
import { breakable, h } from "./dom.js";

/** @typedef {import("../checks.js").Entry} Entry */
/** @typedef {import("../checks.js").Check} Check */

/** From so many lines on, those out of sight are not laid out; fewer are searched and printed whole. */
const LONG = 300;

/**
 * The table of checks: one tab stop, arrow keys within it, a filter over it.
 *
 * A case keeps its number of lines whatever becomes of it, so results never move what one reads;
 * they do only for those who ask for failures first.
 */
export class CheckList {
  /** @type {Map<Entry, HTMLTableRowElement[]>} in the order of the runs */
  #rows = new Map();
  /** @type {HTMLTableRowElement | null} */
  #chosen = null;
  #fits = matcher("");
  /** @type {import("../check-filter.js").Group} */
  #group = "all";
  #failedFirst = false;
  /** @type {Set<Entry>} those that stand before the others, if failures come first */
  #ahead = new Set();

  /**
   * @param {HTMLElement} body the table's tbody
   * @param {(entry: Entry, check: string) => void} onChoose
   */
  constructor(body, onChoose) {
    this.body = body;
    this.onChoose = onChoose;
    body.addEventListener("keydown", (event) => this.#move(event));
  }

  /** @param {Entry[]} entries */
  show(entries) {
    this.#rows.clear();
    this.#ahead.clear();
    this.#chosen = null;
    for (const entry of entries) this.#make(entry);
    this.#lay();
  }

  /** @param {Entry} entry */
  add(entry) {
    this.body.append(...this.#make(entry));
    this.#reveal(entry);
    this.#keepTabStop();
  }

  /** @param {Entry} entry */
  update(entry) {
    const rows = this.#rows.get(entry);
    if (!rows) return;
    checksOf(entry).forEach((check, n) => {
      fill(rows[n], entry, check);
    });
    if (this.#failedFirst && isWrong(entry) !== this.#ahead.has(entry)) this.#lay();
    else this.#reveal(entry);
  }

  /**
   * Shows some of the lines only, or in another order.
   *
   * @param {{text: string, group: import("../check-filter.js").Group, failedFirst: boolean}} wanted
   */
  filter({ text, group, failedFirst }) {
    this.#fits = matcher(text);
    this.#group = group;
    this.#failedFirst = failedFirst;
    this.#lay();
  }

  /** How many lines can be seen. */
  get size() {
    return this.#visible().length;
  }

  /**
   * Marks a line as the one that the detail shows.
   *
   * @param {Entry} entry
   * @param {string} name
   */
  mark(entry, name) {
    const row = this.#rows.get(entry)?.find(({ dataset }) => dataset.check === name);
    if (!row) return;
    if (this.#chosen) {
      this.#chosen.classList.remove("current");
      buttonOf(this.#chosen).removeAttribute("aria-current");
    }
    this.#chosen = row;
    row.classList.add("current");
    buttonOf(row).setAttribute("aria-current", "true");
    if (!row.hidden) this.#tabStop(row);
    this.#bring(row);
  }

  /**
   * Into sight, by the list's own scrolling: where a person reads on the page is left alone.
   *
   * @param {HTMLTableRowElement} row
   */
  #bring(row) {
    const box = row.closest(".list");
    if (!box || row.hidden) return;
    const head = box.querySelector("thead")?.getBoundingClientRect().bottom ?? 0;
    const { top, bottom } = row.getBoundingClientRect();
    const above = top - head;
    const below = bottom - box.getBoundingClientRect().bottom;
    if (above < 0) box.scrollTop += above;
    else if (below > 0) box.scrollTop += below;
  }

  /**
   * Chooses the next line that failed, or the one before; round the end.
   *
   * @param {1 | -1} step
   */
  chooseFailed(step) {
    const rows = this.#visible();
    const wrong = rows.filter(({ dataset }) =>
      inGroup("failed", /** @type {Check["status"]} */ (dataset.status)),
    );
    if (!wrong.length) return;
    const at = this.#chosen ? rows.indexOf(this.#chosen) : -1;
    const found =
      step > 0
        ? wrong.find((row) => rows.indexOf(row) > at)
        : wrong.findLast((row) => rows.indexOf(row) < at);
    const row = found ?? wrong[step > 0 ? 0 : wrong.length - 1];
    row.click();
    buttonOf(row).focus();
  }

  /** @param {Entry} entry */
  #make(entry) {
    const rows = checksOf(entry).map((check) => this.#row(entry, check));
    this.#rows.set(entry, rows);
    return rows;
  }

  /** Puts every line in its place. */
  #lay() {
    const entries = [...this.#rows.keys()];
    this.#ahead = new Set(this.#failedFirst ? entries.filter(isWrong) : []);
    const ordered = [...this.#ahead, ...entries.filter((entry) => !this.#ahead.has(entry))];
    const focused = document.activeElement;
    this.body.replaceChildren(...ordered.flatMap((entry) => this.#rows.get(entry) ?? []));
    this.body.closest(".list")?.classList.toggle("long", this.body.childElementCount > LONG);
    for (const entry of entries) this.#reveal(entry);
    this.#keepTabStop();
    // Moving an element takes the focus away from it.
    if (focused instanceof HTMLElement && this.body.contains(focused)) focused.focus();
  }

  /**
   * Hides the lines of a case that the filter does not let through.
   *
   * @param {Entry} entry
   */
  #reveal(entry) {
    const rows = this.#rows.get(entry) ?? [];
    checksOf(entry).forEach(({ name, status }, n) => {
      rows[n].hidden = !inGroup(this.#group, status) || !this.#fits(entry.case, name);
    });
    const first = rows.find(({ hidden }) => !hidden);
    for (const row of rows) row.classList.toggle("first", row === first);
  }

  #visible() {
    return [.../** @type {NodeListOf<HTMLTableRowElement>} */ (this.body.childNodes)].filter(
      ({ hidden }) => !hidden,
    );
  }

  /**
   * @param {Entry} entry
   * @param {Check} check
   */
  #row(entry, check) {
    const button = h("button", { type: "button", class: "line" }, breakable(entry.case));
    button.tabIndex = -1;
    const row = h(
      "tr",
      { "data-check": check.name, role: "row" },
      h("td", { class: "status", role: "cell" }),
      h("td", { class: "output", role: "cell" }),
      h("td", { class: "case", role: "cell" }, button),
      h("td", { class: "number", role: "cell" }),
    );
    row.addEventListener("click", () => this.onChoose(entry, check.name));
    fill(row, entry, check);
    return row;
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || !(event.target instanceof HTMLElement)) return;
    const rows = this.#visible();
    const at = rows.findIndex((row) => row.contains(/** @type {Node} */ (event.target)));
    const to = Math.min(Math.max(at + step, 0), rows.length - 1);
    event.preventDefault();
    this.#tabStop(rows[to]);
    buttonOf(rows[to]).focus();
  }

  /** The key Tab leads to a line that can be seen: the chosen one, else the first. */
  #keepTabStop() {
    const stop = this.body.querySelector("tr:not([hidden]) button[tabindex='0']");
    if (stop) return;
    const rows = this.#visible();
    const row = rows.find((one) => one === this.#chosen) ?? rows[0];
    if (row) this.#tabStop(row);
  }

  /** @param {HTMLTableRowElement} row */
  #tabStop(row) {
    const before = this.body.querySelector("button[tabindex='0']");
    if (before instanceof HTMLElement) before.tabIndex = -1;
    buttonOf(row).tabIndex = 0;
  }
}

/** @param {HTMLTableRowElement} row */
function buttonOf(row) {
  return /** @type {HTMLButtonElement} */ (row.querySelector("button"));
}

/**
 * @param {HTMLTableRowElement} row
 * @param {Entry} entry
 * @param {Check} check
 */
function fill(row, entry, check) {
  row.dataset.status = check.status;
  const [status, output, , number] = row.cells;
  output.textContent = check.outputs.join(", "); // the number is the worst of them
  status.replaceChildren(
    h("span", { class: "mark", "aria-hidden": "true" }, STATUS_MARK[check.status]),
    STATUS_WORD[check.status],
  );
  const ratio = h("span", { class: "ratio" }, formatRatio(check.ratio));
  number.replaceChildren(meter(toNumber(check.ratio)), ratio);
  row.title = lineOf(check, entry);
}

/**
 * How much of what is allowed was used up: full at the limit.
 *
 * @param {number | null} ratio
 */
function meter(ratio) {
  const bar = h("span", { class: "meter", "aria-hidden": "true" });
  bar.hidden = ratio === null;
  const share = Number.isNaN(ratio) ? 1 : Math.min(ratio ?? 0, 1);
  bar.style.setProperty("--share", String(share));
  return bar;
}
