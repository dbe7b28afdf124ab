// @ts-check
import { RunError } from "./run-error.js";

/**
 * Ends a job's waits: by its deadline, by a stop, by the loss of its device.
 *
 * A software adapter has no watchdog: a runaway kernel leaves `mapAsync` pending for ever, and
 * after a crash of the GPU process some promises never settle. So every await of a job goes
 * through `race`, and the first cause of failure is the one that is reported.
 */
export class Watch {
  /** @type {RunError | null} */
  #cause = null;
  /** @type {(error: RunError) => void} */
  #fail = () => {};
  /** @type {Promise<never>} */
  #failure;
  #doing = "starting";
  #timer;
  #signal;
  #onAbort;

  /**
   * @param {number} deadlineMs
   * @param {AbortSignal} signal a person's Stop, or the server's `cancel`
   */
  constructor(deadlineMs, signal) {
    this.#failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.#failure.catch(() => {}); // a job may end before anybody waits
    this.#timer = setTimeout(() => this.fail(this.#timeout(deadlineMs)), deadlineMs);
    this.#signal = signal;
    this.#onAbort = () => this.fail(new RunError("stopped", "the run was stopped"));
    signal.addEventListener("abort", this.#onAbort);
    if (signal.aborted) this.#onAbort();
  }

  /** @param {RunError} cause */
  fail(cause) {
    if (this.#cause) return;
    this.#cause = cause;
    this.#fail(cause);
  }

  /** @param {Promise<GPUDeviceLostInfo>} lost */
  device(lost) {
    lost.then(({ reason, message }) => {
      const why = message ? `${reason}: ${message}` : reason;
      this.fail(new RunError("device-lost", `the GPU device was lost (${why})`));
    });
  }

  /**
   * @template T
   * @param {string} doing what the page waits for, as a participle: named in the timeout
   * @param {Promise<T>} promise
   * @returns {Promise<T>}
   */
  race(doing, promise) {
    this.#doing = doing;
    return Promise.race([this.#failure, promise]);
  }

  /**
   * Gives the next of several things a time of its own.
   *
   * @param {number} deadlineMs
   */
  restart(deadlineMs) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.fail(this.#timeout(deadlineMs)), deadlineMs);
  }

  /** Throws if the job has to end: for work between two awaits. */
  check() {
    if (this.#cause) throw this.#cause;
  }

  /** The first cause, which explains the errors that it made other promises end in. */
  get cause() {
    return this.#cause;
  }

  close() {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  /** @param {number} deadlineMs */
  #timeout(deadlineMs) {
    const seconds = Number((deadlineMs / 1000).toPrecision(3));
    return new RunError(
      "timeout",
      `${seconds} s passed while ${this.#doing}, and that is this run's deadline; ` +
        "a longer one (--timeout) helps only if the kernel ends at all",
    );
  }
}
