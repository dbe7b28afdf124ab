// @ts-check
import { h } from "./dom.js";

/**
 * What a person must know before reading any number: at most one notice of each topic.
 *
 * @typedef {"webgpu" | "software" | "server" | "request" | "target"} Topic
 */
export class Notices {
  /** @type {Map<Topic, HTMLElement>} */
  #shown = new Map();

  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
  }

  /**
   * @param {Topic} topic
   * @param {"stop" | "warn"} level `stop`: nothing runs until this is dealt with
   * @param {string} what
   * @param {string} [remedy]
   */
  show(topic, level, what, remedy = "") {
    const notice = h(
      "div",
      { class: `notice notice-${level}`, role: level === "stop" ? "alert" : "note" },
      h("p", {}, h("strong", {}, what)),
      remedy ? h("p", {}, remedy) : null,
    );
    const before = this.#shown.get(topic);
    if (before) before.replaceWith(notice);
    else this.place.append(notice);
    this.#shown.set(topic, notice);
  }

  /** @param {Topic} topic */
  clear(topic) {
    this.#shown.get(topic)?.remove();
    this.#shown.delete(topic);
  }
}
