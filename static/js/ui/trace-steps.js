// @ts-check
import { stateOf, symbol } from "../trace-view.js";
import { h } from "./dom.js";

/** @typedef {import("../trace-view.js").Trace} Trace */

/**
 * The steps in a line, one chosen: a group of radio buttons, so arrows, Home and End move.
 */
export class TraceSteps {
  #host;
  #onChoose;

  /**
   * @param {HTMLElement} host
   * @param {(step: number) => void} onChoose
   */
  constructor(host, onChoose) {
    this.#host = host;
    this.#onChoose = onChoose;
    host.addEventListener("change", ({ target }) => {
      this.#onChoose(Number(/** @type {HTMLInputElement} */ (target).value));
    });
    host.addEventListener("keydown", (event) => {
      const inputs = [...host.querySelectorAll("input")];
      const to = { Home: inputs[0], End: inputs[inputs.length - 1] }[event.key];
      if (!to) return;
      event.preventDefault();
      to.focus();
      to.click();
    });
  }

  /**
   * @param {Trace} trace
   * @param {number} chosen
   */
  show(trace, chosen) {
    this.#host.replaceChildren(
      ...trace.steps.map((step, n) => {
        const { status, mark, word } = stateOf(trace, n);
        const [first, end] = step.keys;
        const input = h("input", { type: "radio", name: "trace-step", value: n });
        input.checked = n === chosen;
        const parting = trace.departure?.step === n ? `: ${symbol(trace.departure.quantity)}` : "";
        return h(
          "label",
          { class: "trace-tick", "data-status": status },
          input,
          h(
            "span",
            {},
            h("b", {}, h("span", { class: "trace-mark", "aria-hidden": "true" }, mark), step.title),
            h("small", {}, `keys ${first}–${end - 1}`),
            h("small", { class: "trace-word" }, `${word}${parting}`),
          ),
        );
      }),
    );
    this.#host.querySelector(":checked")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
