// @ts-check
import { lazy, loaded, PAUSE_MS } from "../lazy.js";
import { asRunError } from "../run-error.js";
import { configOf, flopsPerStep, PRESETS } from "../train/config.js";
import { byId, h } from "./dom.js";

/** @typedef {import("../train-session.js").Shown} Shown */
/** @typedef {import("../train-session.js").TrainRequest} TrainRequest */

/** The section of the page that trains: a form, and a verdict. */
export class TrainingView {
  #form = /** @type {HTMLFormElement} */ (byId("train-form"));
  #preset = /** @type {HTMLSelectElement} */ (byId("train-preset"));
  #gate = /** @type {HTMLSelectElement} */ (byId("train-gate"));
  #attention = /** @type {HTMLSelectElement} */ (byId("train-attention"));
  #start = /** @type {HTMLButtonElement} */ (byId("train-start"));
  #stop = /** @type {HTMLButtonElement} */ (byId("train-stop"));
  #model = byId("train-model");
  #result = byId("train-result");
  #headline = byId("train-headline");
  #message = byId("train-message");
  #announcer = byId("train-announcer");
  /** Loaded while the first training begins. */
  #progress = lazy(async () => {
    const { TrainingProgress } = await loaded("what draws it", import("./training-progress.js"));
    return new TrainingProgress((status, word, message) => this.#verdict(status, word, message));
  }, PAUSE_MS);
  /** @type {Shown | null} */
  #shown = null;
  #drawing = false;

  /** @param {{onStart: (what: TrainRequest) => void, onStop: () => void}} listeners */
  constructor({ onStart, onStop }) {
    this.#preset.replaceChildren(...Object.keys(PRESETS).map((name) => option(name, name)));
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault(); // the CSP refuses form submission; it is asked for by fetch
      if (!this.#start.disabled) onStart(this.request);
    });
    this.#form.addEventListener("change", () => this.#describe());
    this.#stop.addEventListener("click", onStop);
    this.#describe();
  }

  /** What the form asks for. @returns {TrainRequest} */
  get request() {
    return {
      preset: this.#preset.value,
      gate: /** @type {TrainRequest["gate"]} */ (this.#gate.value),
      attention: this.#attention.value,
    };
  }

  /**
   * @param {boolean} ready there is an adapter and a server
   * @param {boolean} busy  a training is under way
   */
  enable(ready, busy) {
    this.#start.disabled = !ready || busy;
    this.#stop.disabled = !busy;
  }

  /**
   * Shows a training; at most once a frame, since a GPU may do hundreds of steps a second.
   *
   * @param {Shown} shown
   */
  show(shown) {
    this.#shown = shown;
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(async () => {
      try {
        const progress = await this.#progress();
        if (this.#shown) progress.draw(this.#shown);
      } catch (error) {
        this.#verdict("error", "NOT SHOWN", asRunError(error).message);
        // Of a training that is over nothing more is heard.
        setTimeout(() => this.#shown && this.show(this.#shown), PAUSE_MS);
      }
      this.#drawing = false;
    });
  }

  /** @param {string} message why nothing was started */
  refused(message) {
    this.#verdict("error", "NOT STARTED", message);
  }

  /**
   * @param {string} status
   * @param {string} word
   * @param {string} message
   */
  #verdict(status, word, message) {
    if (this.#result.dataset.verdict !== status) {
      // Not the numbers of every step: a screen reader would never come to an end.
      this.#announcer.textContent = `Training: ${word.toLowerCase()}. ${message}`;
    }
    this.#result.hidden = false;
    this.#result.dataset.verdict = status;
    this.#headline.textContent = word;
    this.#message.textContent = message;
  }

  /** What the chosen preset is. */
  #describe() {
    const config = configOf(this.#preset.value);
    const { layers, C, T, B, H, D } = config;
    this.#model.textContent =
      `${layers} blocks, C ${C}, context ${T}, batch ${B}, ${H} heads of ${D}; ` +
      `${(flopsPerStep(config) / 1e9).toPrecision(2)} GFLOP a step`;
  }
}

/**
 * @param {string} value
 * @param {string} label
 */
function option(value, label) {
  return h("option", { value }, label);
}
