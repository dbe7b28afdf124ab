// @ts-check
import { asRunError, RunError } from "./run-error.js";

/** @typedef {import("./transport.js").Job} Job */
/** @typedef {import("./runner.js").Progress} Progress */
/** @typedef {import("./runner.js").Result} Result */

/**
 * @typedef {object} Hooks
 * @property {(job: Job, signal: AbortSignal, progress: (p: Progress) => void) => Promise<Result>} run
 * @property {(job: Job, result: Result, signal: AbortSignal) => Promise<void>} deliver
 *   resolves once the server has everything; the verdict may follow later
 * @property {(job: Job) => void} onStart
 * @property {(job: Job, progress: Progress) => void} onProgress
 * @property {(job: Job, problem: RunError) => void} onProblem  the result reached nobody
 * @property {() => void} onIdle
 */

/**
 * Jobs one after the other: two at once would share one GPU and each other's deadlines.
 */
export class JobQueue {
  /** @type {Job[]} */
  #waiting = [];
  /** @type {{job: Job, abort: AbortController} | null} */
  #current = null;
  /** @type {Set<string>} every job ever taken: the server repeats one when a stream reopens */
  #seen = new Set();
  #hooks;

  /** @param {Hooks} hooks */
  constructor(hooks) {
    this.#hooks = hooks;
  }

  /** @param {Job} job */
  push(job) {
    if (this.#seen.has(job.run)) return;
    this.#seen.add(job.run);
    this.#waiting.push(job);
    if (!this.#current) this.#work();
  }

  /**
   * Calls a run off, whether it waits or is under way.
   *
   * @param {string} run
   */
  cancel(run) {
    this.#waiting = this.#waiting.filter((job) => job.run !== run);
    if (this.#current?.job.run === run) this.#current.abort.abort();
  }

  async #work() {
    for (let job = this.#waiting.shift(); job; job = this.#waiting.shift()) {
      const abort = new AbortController();
      this.#current = { job, abort };
      await this.#do(job, abort.signal);
    }
    this.#current = null;
    this.#hooks.onIdle();
  }

  /**
   * @param {Job} job
   * @param {AbortSignal} signal
   */
  async #do(job, signal) {
    this.#hooks.onStart(job);
    try {
      const result = await this.#hooks.run(job, signal, (progress) => {
        this.#hooks.onProgress(job, progress);
      });
      if (signal.aborted) throw new RunError("stopped", "the run was stopped");
      await this.#hooks.deliver(job, result, signal);
    } catch (error) {
      this.#hooks.onProblem(job, asRunError(error));
    }
  }
}
