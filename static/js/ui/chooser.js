// @ts-check
import { byId, h } from "./dom.js";

/** @typedef {import("../url-options.js").Choice} Options */

/** The form that says what to run. A case and a suite exclude each other: the last one set wins. */
export class Chooser {
  #form = /** @type {HTMLFormElement} */ (byId("chooser"));
  #suite = /** @type {HTMLSelectElement} */ (byId("suite"));
  #case = /** @type {HTMLInputElement} */ (byId("case"));
  #kernel = /** @type {HTMLSelectElement} */ (byId("kernel-name"));
  #seed = /** @type {HTMLInputElement} */ (byId("seed"));
  #run = /** @type {HTMLButtonElement} */ (byId("run"));
  #stop = /** @type {HTMLButtonElement} */ (byId("stop"));

  /** @param {{onRun: () => void, onStop: () => void, onChange: () => void}} listeners */
  constructor({ onRun, onStop, onChange }) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault(); // the CSP refuses form submission; runs are asked for by fetch
      if (!this.#run.disabled) onRun();
    });
    this.#stop.addEventListener("click", onStop);
    this.#case.addEventListener("input", () => {
      if (this.#case.value.trim()) this.#suite.value = "";
    });
    this.#suite.addEventListener("change", () => {
      if (this.#suite.value) this.#case.value = "";
      else this.#case.focus();
    });
    this.#form.addEventListener("change", onChange);
  }

  /**
   * @param {Record<string, string[]>} suites case ids by suite
   * @param {{name: string, op: string}[]} kernels  the registry; parts of others are not offered
   */
  fill(suites, kernels) {
    const chosen = this.options;
    const option = (/** @type {string} */ value, /** @type {string} */ text) =>
      h("option", { value }, text);
    this.#suite.replaceChildren(
      ...Object.entries(suites).map(([name, cases]) => option(name, `${name} (${cases.length})`)),
      option("", "one case"),
    );
    this.#kernel.replaceChildren(
      option("", "as the case says"),
      ...["auto", "baseline", "fa2"].map((name) => option(name, name)),
      ...kernels
        .filter(({ op }) => op === "forward" || op === "backward")
        .map(({ name }) => option(name, name)),
    );
    byId("cases").replaceChildren(
      ...[...new Set(Object.values(suites).flat())].map((id) => option(id, "")),
    );
    this.options = chosen;
  }

  /** As the button Run does. */
  submit() {
    this.#form.requestSubmit(this.#run.disabled ? null : this.#run);
  }

  /** @returns {Options} */
  get options() {
    return {
      case: this.#case.value.trim(),
      suite: this.#suite.value,
      kernel: this.#kernel.value,
      seed: this.#seed.value.trim(),
    };
  }

  /** @param {Options} options */
  set options(options) {
    this.#case.value = options.case;
    ensure(this.#suite, options.case ? "" : options.suite);
    ensure(this.#kernel, options.kernel);
    this.#seed.value = options.seed;
  }

  /**
   * @param {boolean} ready there is an adapter and a server
   * @param {boolean} busy  runs are under way
   */
  enable(ready, busy) {
    this.#run.disabled = !ready || busy;
    this.#stop.disabled = !busy;
  }
}

/**
 * Selects a value, also one that the server has not listed (yet): a URL may name it, and it is
 * the server's part to refuse it.
 *
 * @param {HTMLSelectElement} select
 * @param {string} value
 */
function ensure(select, value) {
  const known = [...select.options].some((option) => option.value === value);
  if (!known) select.prepend(h("option", { value }, value));
  select.value = value;
}
