// @ts-check
import { lazy, loaded, PAUSE_MS } from "../lazy.js";
import { asRunError } from "../run-error.js";
import { byId, showCase } from "./dom.js";

/** @typedef {import("../bench-session.js").Shown} Shown */

const PHASES = {
  prepare: "preparing",
  peaks: "measuring what the adapter can do",
  "warm-up": "warming up",
  samples: "timing",
  wall: "timing queued calls",
};

/** The section of the page that times: a button, and what is being done. */
export class SpeedView {
  #form = /** @type {HTMLFormElement} */ (byId("speed-form"));
  #start = /** @type {HTMLButtonElement} */ (byId("speed-start"));
  #stop = /** @type {HTMLButtonElement} */ (byId("speed-stop"));
  #case = byId("speed-case");
  #kernel = byId("speed-kernel");
  #activity = byId("speed-activity");
  #announcer = byId("speed-announcer");
  /** Loaded while the first case is judged and timed. */
  #result = lazy(async () => {
    const { SpeedResult } = await loaded("what shows the times", import("./speed-result.js"));
    return new SpeedResult();
  }, PAUSE_MS);

  /** @param {{onStart: () => void, onStop: () => void}} listeners */
  constructor({ onStart, onStop }) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault(); // the CSP refuses form submission; it is asked for by fetch
      if (!this.#start.disabled) onStart();
    });
    this.#stop.addEventListener("click", onStop);
  }

  /**
   * @param {boolean} ready there is an adapter and a server
   * @param {boolean} busy  something is timed
   * @param {string} id     the case on show; "" if there is none
   * @param {string} own    the name of its kernel, if it is not ours
   */
  enable(ready, busy, id, own) {
    this.#start.disabled = !ready || busy || !id;
    this.#stop.disabled = !busy;
    showCase(this.#case, id);
    this.#kernel.textContent = own && `, your kernel ${own}`;
  }

  /** @param {string} message why nothing was started */
  refused(message) {
    this.#refuse(`Not timed: ${message}`);
  }

  /** @param {string} text */
  #refuse(text) {
    this.#say(text);
    this.#announcer.textContent = text;
  }

  /** @param {readonly Shown[]} all */
  async show(all) {
    const current = all.find(({ state }) => state !== "done");
    this.#say(current ? doing(current) : "");
    try {
      const result = await this.#result();
      result.show(all.filter(({ state }) => state === "done"));
    } catch (error) {
      // What is being done is the better news; there is nothing to show yet, and it is tried again.
      if (!current) this.#refuse(`Not shown: ${asRunError(error).message}`);
    }
  }

  /** @param {string} text */
  #say(text) {
    this.#activity.textContent = text;
    this.#activity.hidden = !text;
  }
}

/** @param {Shown} shown */
function doing({ case: id, state, progress }) {
  if (state === "checking") return `${id}: judged first`;
  if (!progress) return `${id}: starting`;
  const { phase, done, total } = progress;
  const far = phase === "samples" || phase === "wall" ? `, ${done} of ${total}` : "";
  return `${id}: ${PHASES[phase]}${far}`;
}
