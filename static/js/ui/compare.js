// @ts-check
import { lazy, loaded } from "../lazy.js";
import { asRunError } from "../run-error.js";
import { byId, h, showCase } from "./dom.js";

/** @typedef {import("../compare-session.js").Comparison} Comparison */
/** @typedef {import("../compare-sides.js").Group} Group */

/** The section of the page that sets two kernels against each other: a form, and a sentence. */
export class CompareView {
  #form = /** @type {HTMLFormElement} */ (byId("compare-form"));
  #selects = ["compare-a", "compare-b"].map((id) => /** @type {HTMLSelectElement} */ (byId(id)));
  #timed = /** @type {HTMLInputElement} */ (byId("compare-timed"));
  #start = /** @type {HTMLButtonElement} */ (byId("compare-start"));
  #stop = /** @type {HTMLButtonElement} */ (byId("compare-stop"));
  #case = byId("compare-case");
  #says = byId("compare-says");
  /** Loaded while the first two are run. */
  #result;
  #offered = "";

  /** @param {{onStart: () => void, onStop: () => void, onShow: (run: string) => void}} listeners */
  constructor({ onStart, onStop, onShow }) {
    this.#result = lazy(async () => {
      const { CompareResult } = await loaded("what shows it", import("./compare-result.js"));
      return new CompareResult(onShow);
    });
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault(); // the CSP refuses form submission; it is asked for by fetch
      if (!this.#start.disabled) onStart();
    });
    this.#stop.addEventListener("click", onStop);
  }

  /** @returns {[string, string]} the values of A and B */
  get chosen() {
    return [this.#selects[0].value, this.#selects[1].value];
  }

  get timed() {
    return this.#timed.checked;
  }

  /**
   * @param {Group[]} groups
   * @param {[string, string]} first  what is chosen before anybody chose
   */
  offer(groups, first) {
    const offered = JSON.stringify(groups);
    // A list that is open would close, and a choice that is being made would be lost.
    if (offered === this.#offered || this.#selects.some((one) => one === document.activeElement)) {
      return;
    }
    const chosen = this.#offered ? this.chosen : first;
    this.#offered = offered;
    for (const [n, select] of this.#selects.entries()) {
      select.replaceChildren(
        ...groups.map(({ label, options }) =>
          h(
            "optgroup",
            { label },
            ...options.map(({ value, label: text, disabled }) =>
              h("option", { value, disabled: Boolean(disabled) }, text),
            ),
          ),
        ),
      );
      const option = [...select.options].find(({ value }) => value === chosen[n]);
      if (option && !option.disabled) select.value = chosen[n];
    }
  }

  /**
   * @param {boolean} ready there is an adapter and a server
   * @param {boolean} busy  something is compared
   * @param {string} id     the case on show; "" if there is none
   */
  enable(ready, busy, id) {
    this.#start.disabled = !ready || busy || !id;
    this.#stop.disabled = !busy;
    showCase(this.#case, id);
  }

  /** @param {string} text */
  say(text) {
    if (this.#says.textContent !== text) this.#says.textContent = text;
  }

  /** @param {Comparison} shown */
  async show(shown) {
    try {
      const result = await this.#result();
      this.say(result.show(shown));
    } catch (error) {
      this.say(`Not shown: ${asRunError(error).message}`);
    }
  }
}
