// @ts-check
import { ProgressSender } from "./progress-sender.js";
import { asRunError, notBegun } from "./run-error.js";

/** @typedef {import("./bench-runner.js").BenchJob} BenchJob */
/** @typedef {import("./bench-runner.js").BenchRunner} BenchRunner */
/** @typedef {import("./bench-runner.js").BenchProgress} BenchProgress */
/** @typedef {import("./transport.js").Transport} Transport */

/**
 * The server's word on a benchmark: GET /api/benches/{id}. Numbers are null unless it is "timed".
 *
 * @typedef {object} BenchReport
 * @property {string} bench
 * @property {string} case
 * @property {string} state
 * @property {"timed" | "fail" | "vacuous" | "error" | "skip" | null} status  null: not finished
 * @property {string | null} message
 * @property {BenchProgress | null} progress
 * @property {string} [kernel]
 * @property {number | null} [median_ns]
 * @property {number | null} [p20_ns]
 * @property {number | null} [p80_ns]
 * @property {"gpu" | "wall" | null} [clock]
 * @property {number | null} [wall_ns]
 * @property {number | null} [tflops]
 * @property {number | null} [gbps]
 * @property {number | null} [share_of_peak]
 * @property {"f32" | "f16_matrix" | null} [peak]
 * @property {import("./bench/peaks.js").Peaks | null} [peaks]
 * @property {import("./device.js").AdapterFacts | null} [adapter]
 * @property {string[]} [warnings]
 */

/**
 * @typedef {object} Shown what this page knows of a benchmark
 * @property {string} bench
 * @property {string} case
 * @property {"checking" | "running" | "done"} state
 * @property {BenchProgress | null} progress
 * @property {BenchReport | null} report
 * @property {string} problem  why there is no report although it is over
 */

/**
 * @typedef {{case: string, kernel?: string, seed?: string, shaders?: Record<string, string>,
 *   own?: object}} BenchRequest
 */

const FORGOTTEN =
  "the server no longer knows this benchmark: it was restarted, or has forgotten it";
/** Progress is told at most this often. */
const PROGRESS_MS = 250;

/** Benchmarks of this page: asked for here, or by the command line. */
export class BenchSession {
  /** All of them, the newest last. @type {Shown[]} */
  all = [];
  /** @type {Promise<unknown>} jobs one after the other: the server may be told of an end early */
  #work = Promise.resolve();
  /** @type {Set<string>} every job ever taken: the server repeats one when a stream reopens */
  #seen = new Set();
  /** @type {Map<string, BenchReport>} ends that overtook the answer to the request */
  #early = new Map();
  /** @type {{bench: string, abort: AbortController, progress: ProgressSender<BenchProgress>} | null} */
  #current = null;
  /** @type {Promise<void> | null} a request that is not answered yet */
  #asking = null;
  #toldAt = 0;

  /**
   * @param {Transport} transport
   * @param {() => Promise<BenchRunner>} runner  loaded for the first job
   * @param {{onChange: () => void, onDone: () => void}} view  onDone: the page is free again
   */
  constructor(transport, runner, view) {
    this.transport = transport;
    this.runner = runner;
    this.view = view;
    transport.listen("bench", (job) => this.take(job));
    transport.listen("bench-cancel", ({ bench }) => this.#halt(bench));
    transport.listen("bench-report", ({ report }) => this.#report(report));
  }

  get busy() {
    return this.all.some(({ state }) => state !== "done");
  }

  /**
   * Asks the server for a benchmark on this page: first the check, then the times. Once where the
   * request is not answered yet (a double press).
   *
   * @param {BenchRequest} what
   * @returns {Promise<void>}
   * @throws {import("./run-error.js").RunError} the server's refusal
   */
  start(what) {
    this.#asking ??= this.#ask(what).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** @param {BenchRequest} what */
  async #ask(what) {
    const body = { ...what, page: this.transport.page };
    const { bench, case: id } = await this.transport.post("/api/benches", body);
    this.#shown(bench, id);
  }

  /** Calls everything off that is not over; the server says the last word. */
  async stop() {
    const open = this.all.filter(({ state }) => state !== "done");
    await Promise.all(
      open.map(async (shown) => {
        try {
          await this.#halt(shown.bench); // progress that came after it would be refused
          await this.transport.post(`/api/benches/${shown.bench}/cancel`);
        } catch (error) {
          await this.#lost(shown, error);
        }
      }),
    );
  }

  /** @param {BenchJob} job */
  take(job) {
    if (this.#seen.has(job.bench)) return;
    this.#seen.add(job.bench);
    const shown = this.#shown(job.bench, job.case);
    this.#work = this.#work.then(() => this.#run(job, shown));
  }

  /** After the stream was down: what happened meanwhile to those that are not over? */
  async resync() {
    const open = this.all.filter(({ state }) => state !== "done");
    await Promise.all(open.map((shown) => this.#lookUp(shown)));
  }

  /**
   * @param {BenchJob} job
   * @param {Shown} shown
   */
  async #run(job, shown) {
    if (shown.state === "done") return; // called off while it waited
    const abort = new AbortController();
    const path = `/api/benches/${job.bench}`;
    /** @type {ProgressSender<BenchProgress>} */
    const progress = new ProgressSender((told) => this.transport.post(`${path}/progress`, told));
    this.#current = { bench: job.bench, abort, progress };
    this.#change(shown, { state: "running" });
    try {
      const hooks = {
        signal: abort.signal,
        onProgress: (/** @type {BenchProgress} */ told) => this.#progress(shown, progress, told),
      };
      const done = await this.runner().then((runner) => runner.run(job, hooks), notBegun);
      this.view.onDone();
      await progress.end();
      // The server knows, it has the last word.
      if (done.error?.kind === "stopped" || abort.signal.aborted) return;
      this.#report(await this.transport.post(`${path}/done`, done));
    } catch (error) {
      await this.#lost(shown, error);
    } finally {
      this.#current = null;
    }
  }

  /**
   * What the page measured could not be delivered; the server may have ended it without.
   *
   * @param {Shown} shown
   * @param {unknown} error
   */
  async #lost(shown, error) {
    await this.#lookUp(shown);
    this.#change(shown, { state: "done", problem: asRunError(error).message, progress: null });
  }

  /** @param {Shown} shown */
  async #lookUp(shown) {
    try {
      this.#report(await this.transport.get(`/api/benches/${shown.bench}`));
    } catch (error) {
      const { status } = /** @type {{status?: number}} */ (error);
      if (status === 404) this.#change(shown, { state: "done", problem: FORGOTTEN });
    }
  }

  /**
   * Ends what this page does of a benchmark; resolves once nothing of it is on its way.
   *
   * @param {string} bench
   */
  async #halt(bench) {
    if (this.#current?.bench !== bench) return;
    this.#current.abort.abort();
    await this.#current.progress.end();
  }

  /** @param {BenchReport} report */
  #report(report) {
    const shown = this.all.find(({ bench }) => bench === report.bench);
    if (report.status && !shown) this.#early.set(report.bench, report);
    if (!report.status || !shown || shown.report) return;
    this.#halt(report.bench); // an end without our result: a deadline, or a cancellation
    this.#change(shown, { state: "done", report, problem: "", progress: null });
  }

  /**
   * @param {Shown} shown
   * @param {ProgressSender<BenchProgress>} sender
   * @param {BenchProgress} progress
   */
  #progress(shown, sender, progress) {
    const now = performance.now();
    if (now - this.#toldAt < PROGRESS_MS && progress.phase === shown.progress?.phase) return;
    this.#toldAt = now;
    this.#change(shown, { progress });
    sender.tell(progress);
  }

  /**
   * The benchmark of this id; what is heard of first may be its job, its report or our request.
   *
   * @param {string} bench
   * @param {string} id  of the case
   */
  #shown(bench, id) {
    const known = this.all.find((one) => one.bench === bench);
    if (known) return known;
    /** @type {Shown} */
    const shown = { bench, case: id, state: "checking", progress: null, report: null, problem: "" };
    this.all.push(shown);
    this.view.onChange();
    const early = this.#early.get(bench);
    if (early) this.#report(early);
    this.#early.delete(bench);
    return shown;
  }

  /**
   * @param {Shown} shown
   * @param {Partial<Shown>} change
   */
  #change(shown, change) {
    if (shown.state === "done") return; // the first word stays
    Object.assign(shown, change);
    this.view.onChange();
  }
}
