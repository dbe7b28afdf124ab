// @ts-check
import { formatDuration, formatLoss, formatRatio, plural } from "../format.js";
import { breakable, h } from "../ui/dom.js";
import { nameOf, timeOf } from "./curves.js";

/** @typedef {import("./curves.js").Row} Row */

/** How a status is written: a mark too, since colour never says it alone. @type {Record<string, string>} */
const WORDS = {
  pass: "✓ pass",
  timed: "✓ timed",
  fail: "✗ fail",
  vacuous: "∅ vacuous",
  error: "! error",
  skip: "– skip",
};

/** @param {string} status */
export function badge(status) {
  const colour = status === "timed" ? "pass" : status;
  return h("span", { class: "badge", "data-status": colour }, WORDS[status] ?? status);
}

/** The runs, a row each; a row's link opens its report. */
export class RunList {
  /**
   * @param {HTMLElement} body of the table
   * @param {{href: (run: string) => string, onChoose: (run: string) => void}} actions
   */
  constructor(body, { href, onChoose }) {
    this.body = body;
    this.href = href;
    this.onChoose = onChoose;
  }

  /**
   * @param {readonly Row[]} rows
   * @param {string} chosen
   */
  show(rows, chosen) {
    this.body.replaceChildren(...rows.map((row) => this.#row(row)));
    this.mark(chosen);
  }

  /** @param {string} chosen the run whose report is on show */
  mark(chosen) {
    for (const link of this.body.querySelectorAll("a")) {
      const current = link.dataset.run === chosen;
      link.closest("tr")?.classList.toggle("chosen", current);
      if (current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  /** @param {Row} row */
  #row(row) {
    const link = h(
      "a",
      { href: this.href(row.run), "data-run": row.run },
      h("code", {}, breakable(row.case)),
    );
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab
      event.preventDefault();
      this.onChoose(row.run);
    });
    const edited = row.edited ? ` (${row.edited} edited)` : "";
    return h(
      "tr",
      {},
      h("td", { class: "nowrap" }, badge(row.status)),
      h("td", {}, link, trained(row)),
      h("td", { class: "number" }, formatRatio(row.worst)),
      h("td", { class: "number" }, formatDuration(timeOf(row))),
      h("td", {}, `${nameOf(row)}${edited}`),
      h("td", { class: "nowrap" }, when(row.finished)),
      h("td", {}, row.origin),
      h("td", {}, row.adapter ?? "–"),
    );
  }
}

/** How far a training came, below its name; null for everything else. @param {Row} row */
function trained({ steps, loss }) {
  if (steps === null) return null;
  return h("small", {}, `${plural(steps, "step")}, loss ${formatLoss(loss)}`);
}

/** @param {string} finished */
export function when(finished) {
  const time = new Date(finished);
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
  return `${day} ${clock}`;
}
