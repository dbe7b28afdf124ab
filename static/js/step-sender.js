// @ts-check

/** One request at a time, and at most one in this time: a GPU may do hundreds of steps a second. */
const SEND_MS = 100;
/** Most steps of one request. */
const MOST = 1000;

/**
 * Sends steps in order: each request takes all that were done since the one before.
 *
 * @typedef {{first: number, losses: (number | string)[], elapsed_ns: number[]}} Steps
 */
export class StepSender {
  /** @type {[loss: number | string, elapsedNs: number][]} */
  #waiting = [];
  #sent = 0;
  /** @type {Promise<void> | null} */
  #sending = null;
  /** @type {unknown} */
  #failure = null;
  #hurry = () => {};
  #draining = false;
  #stopped = false;

  /** Called once, when a request has failed; nothing more is sent. */
  onFailure = () => {};

  /** @param {(steps: Steps) => Promise<unknown>} post */
  constructor(post) {
    this.post = post;
  }

  /**
   * @param {number} loss
   * @param {number} elapsedNs
   */
  push(loss, elapsedNs) {
    // JSON has no NaN and no infinity: they travel as words.
    const word = Number.isNaN(loss) ? "NaN" : loss > 0 ? "inf" : "-inf";
    this.#waiting.push([Number.isFinite(loss) ? loss : word, elapsedNs]);
    if (!this.#failure && !this.#stopped) this.#sending ??= this.#send();
  }

  /** Sends nothing more. Resolves once the request that is on its way is answered. */
  async stop() {
    this.#stopped = true;
    this.#waiting.length = 0;
    this.#hurry();
    await this.#sending;
  }

  /** Resolves once the server has everything; rejects with what went wrong. */
  async drained() {
    this.#draining = true;
    this.#hurry();
    await this.#sending;
    if (this.#failure) throw this.#failure;
  }

  async #send() {
    try {
      while (this.#waiting.length) {
        const steps = this.#waiting.splice(0, MOST);
        await this.post({
          first: this.#sent + 1,
          losses: steps.map(([loss]) => loss),
          elapsed_ns: steps.map(([, elapsedNs]) => elapsedNs),
        });
        this.#sent += steps.length;
        if (!this.#draining) await this.#pause();
      }
    } catch (error) {
      this.#failure = error;
      this.onFailure();
    }
    this.#sending = null;
  }

  /** @returns {Promise<void>} */
  #pause() {
    return new Promise((resolve) => {
      this.#hurry = resolve;
      setTimeout(resolve, SEND_MS);
    });
  }
}
