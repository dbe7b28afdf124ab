// @ts-check

/** What ends a job waits no longer than this for the answer to its last progress. */
const PATIENCE_MS = 1000;

/**
 * Tells the server how far one job is: one request at a time, and after it the latest of what came
 * meanwhile. Two requests may overtake each other, and progress of a job that is over is refused,
 * which stands on the browser's console: whoever ends the job waits for `end` first.
 *
 * Nothing depends on progress, so a failure is no news.
 *
 * @template T
 */
export class ProgressSender {
  /** @type {T | null} */
  #latest = null;
  /** @type {Promise<void> | null} */
  #sending = null;
  #over = false;
  #hurry = () => {};
  #toldAt = performance.now();

  /**
   * @param {(progress: T) => Promise<unknown>} post
   * @param {number} [pauseMs]  between two requests, and before the first: a job that takes less
   *   tells none
   */
  constructor(post, pauseMs = 0) {
    this.post = post;
    this.pauseMs = pauseMs;
  }

  /** @param {T} progress */
  tell(progress) {
    if (this.#over) return;
    this.#latest = progress;
    this.#sending ??= this.#send();
  }

  /** Tells nothing more. Resolves once no request is under way, or none that is soon answered. */
  async end() {
    this.#over = true;
    this.#hurry();
    if (!this.#sending) return;
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS);
    });
    await Promise.race([this.#sending, late]);
    clearTimeout(timer);
  }

  async #send() {
    while (this.#latest !== null) {
      const ms = this.#toldAt + this.pauseMs - performance.now();
      if (ms > 0) await this.#pause(ms);
      if (this.#over) break;
      const progress = this.#latest;
      this.#latest = null;
      this.#toldAt = performance.now();
      await this.post(progress).catch(() => {});
    }
    this.#sending = null;
  }

  /**
   * @param {number} ms
   * @returns {Promise<void>}
   */
  #pause(ms) {
    return new Promise((resolve) => {
      this.#hurry = resolve;
      setTimeout(resolve, ms);
    });
  }
}
