// @ts-check
import { HeadStrip } from "./anatomy-heads.js";
import { UlpHistogram } from "./anatomy-histogram.js";
import { Profiles } from "./anatomy-profiles.js";
import { WorstTable } from "./anatomy-worst.js";
import { h } from "./dom.js";

/** @typedef {import("./anatomy-numbers.js").Anatomy} Numbers */

/** An output over all its heads: what stands above the heat map, and what stands below it. */
export class Anatomy {
  #heads;
  #worst;
  #histogram = new UlpHistogram();
  #profiles = new Profiles();
  #message = h("p", { class: "hint" });

  /**
   * @param {object} listeners
   * @param {(b: number, h: number) => void} listeners.onHead
   * @param {(worst: import("./anatomy-numbers.js").Worst) => void} listeners.onElement
   */
  constructor({ onHead, onElement }) {
    this.#heads = new HeadStrip(onHead);
    this.#worst = new WorstTable(onElement);
    this.above = this.#heads.element;
    this.below = h(
      "div",
      { class: "anatomy" },
      this.#message,
      this.#worst.element,
      this.#histogram.element,
      this.#profiles.element,
    );
  }

  /** @param {Numbers} found */
  show(found) {
    this.#message.textContent =
      `${found.output} over all heads: ${found.wrong.toLocaleString("en")} of ` +
      `${found.elements.toLocaleString("en")} elements are beyond what is allowed` +
      `${found.sampled ? ", of the sample of rows and keys that was judged" : ""}.`;
    this.#heads.show(found.heads);
    this.#worst.show(found.worst);
    this.#histogram.show(found.ulps);
    this.#profiles.show(found);
  }

  /**
   * @param {number} b
   * @param {number} head
   */
  mark(b, head) {
    this.#heads.mark(b, head);
  }

  /** @param {unknown} error why there is nothing to show */
  fail(error) {
    this.#message.textContent = `No figures: ${error instanceof Error ? error.message : error}`;
  }
}
