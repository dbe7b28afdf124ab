// @ts-check
import { checksOf, lineOf, STATUS_WORD } from "../checks.js";
import { formatRatio, toNumber } from "../format.js";
import { breakable, h } from "./dom.js";

/** @typedef {import("../checks.js").Entry} Entry */
/** @typedef {import("../checks.js").Check} Check */

/** A shape beside each word, since colour never says it alone. */
const MARK = {
  pass: "✓",
  fail: "✗",
  vacuous: "∅",
  error: "!",
  skip: "–",
  running: "▸",
  queued: "·",
  planned: "·",
};

/**
 * The table of checks: one tab stop, arrow keys within it.
 *
 * A case keeps its number of lines whatever becomes of it, so results never move what one reads.
 */
export class CheckList {
  /** @type {Map<Entry, HTMLTableRowElement[]>} */
  #rows = new Map();
  /** @type {HTMLTableRowElement | null} */
  #chosen = null;

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
    this.#chosen = null;
    this.body.replaceChildren();
    for (const entry of entries) this.add(entry);
  }

  /** @param {Entry} entry */
  add(entry) {
    const rows = checksOf(entry).map((check, n) => this.#row(entry, check, n));
    this.#rows.set(entry, rows);
    this.body.append(...rows);
    if (!this.#chosen) this.#tabStop(rows[0]);
  }

  /** @param {Entry} entry */
  update(entry) {
    const rows = this.#rows.get(entry);
    if (!rows) return;
    checksOf(entry).forEach((check, n) => {
      fill(rows[n], entry, check);
    });
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
    this.#tabStop(row);
  }

  /**
   * @param {Entry} entry
   * @param {Check} check
   * @param {number} n its place among the checks of the case
   */
  #row(entry, check, n) {
    const button = h("button", { type: "button", class: "line" }, breakable(entry.case));
    button.tabIndex = -1;
    const row = h(
      "tr",
      { "data-check": check.name, class: n === 0 ? "first" : null },
      h("td", { class: "status" }),
      h("td", { class: "output" }, check.name),
      h("td", { class: "case" }, button),
      h("td", { class: "number" }),
    );
    row.addEventListener("click", () => this.onChoose(entry, check.name));
    fill(row, entry, check);
    return row;
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || !(event.target instanceof HTMLElement)) return;
    const rows = [...this.#rows.values()].flat();
    const at = rows.findIndex((row) => row.contains(/** @type {Node} */ (event.target)));
    const to = Math.min(Math.max(at + step, 0), rows.length - 1);
    event.preventDefault();
    this.#tabStop(rows[to]);
    buttonOf(rows[to]).focus();
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
  const [status, , , number] = row.cells;
  status.replaceChildren(
    h("span", { class: "mark", "aria-hidden": "true" }, MARK[check.status]),
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
