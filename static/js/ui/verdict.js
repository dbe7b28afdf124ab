// @ts-check
import { byId } from "./dom.js";

/** The headline, the tally and the progress bar; a headline that is final is also announced. */
export class Verdict {
  #section = byId("verdict");
  #headline = byId("headline");
  #tally = byId("tally");
  #progress = /** @type {HTMLProgressElement} */ (byId("progress"));
  #activity = byId("activity");
  #announcer = byId("announcer");
  #title = document.title;

  /** @param {import("../checks.js").Summary} summary */
  show({ verdict, headline, detail, done, cases }) {
    if (this.#section.dataset.verdict !== verdict) this.#announce(verdict, headline, detail);
    this.#section.dataset.verdict = verdict;
    this.#headline.textContent = headline;
    this.#tally.textContent = detail;
    this.#progress.max = Math.max(cases, 1);
    this.#progress.value = done;
    document.title = verdict === "planned" ? this.#title : `${headline} · ${this.#title}`;
  }

  /** @param {string} text what is being done right now */
  activity(text) {
    this.#activity.textContent = text;
  }

  /**
   * @param {string} verdict
   * @param {string} headline
   * @param {string} detail
   */
  #announce(verdict, headline, detail) {
    const spoken = verdict === "running" ? "Running" : `${headline}. ${detail}`;
    if (verdict !== "planned") this.#announcer.textContent = spoken;
  }
}
