// @ts-check
import { ProgressSender } from "./progress-sender.js";
import { asRunError, notBegun } from "./run-error.js";
import { StepSender } from "./step-sender.js";

/** @typedef {import("./train-runner.js").TrainJob} TrainJob */
/** @typedef {import("./train-runner.js").TrainRunner} TrainRunner */
/** @typedef {import("./train-runner.js").TrainProgress} TrainProgress */
/** @typedef {import("./transport.js").Transport} Transport */

/** @typedef {Pick<TrainJob, "preset" | "gate" | "attention"> & {steps?: number}} TrainRequest */

/**
 * The server's word on a training: GET /api/trainings/{id}.
 *
 * @typedef {object} TrainReport
 * @property {string} training
 * @property {string} state
 * @property {"pass" | "fail" | "error" | "skip" | null} status  null until it is finished
 * @property {string | null} message
 * @property {string[]} [warnings]  once it is finished
 * @property {(number | string)[]} losses
 * @property {(number | string)[]} twin
 */

/**
 * The training that this page shows.
 *
 * @typedef {object} Shown
 * @property {string} training
 * @property {TrainRequest | TrainJob} what
 * @property {"queued" | "running" | "judging" | "done"} state
 * @property {number[]} losses  of this page
 * @property {number[]} twin    of NumPy
 * @property {number[]} times   milliseconds of each step
 * @property {TrainProgress | null} progress
 * @property {TrainReport | null} report
 * @property {string} problem   why there is no report although it is over
 * @property {boolean} stopped   called off on this page
 */

/**
 * The training that is being done: a stop ends its own, while another may be shown already.
 *
 * @typedef {{training: string, abort: AbortController, steps: StepSender,
 *   progress: ProgressSender<TrainProgress>}} Current
 */

const FORGOTTEN = "the server no longer knows this training: it was restarted, or has forgotten it";
/** Progress is told at most this often. */
const PROGRESS_MS = 250;

/** Trainings of this page, one at a time: asked for here, or by the command line. */
export class TrainSession {
  /** @type {Shown | null} */
  shown = null;
  /** @type {Promise<unknown>} jobs one after the other: the server may be told of an end early */
  #work = Promise.resolve();
  /** @type {Set<string>} every job ever taken: the server repeats one when a stream reopens */
  #seen = new Set();
  /** @type {Current | null} */
  #current = null;
  /** @type {Promise<void> | null} a request that is not answered yet */
  #asking = null;
  #progressAt = 0;

  /**
   * @param {Transport} transport
   * @param {() => Promise<TrainRunner>} runner  loaded for the first job
   * @param {{onChange: () => void, onDone: () => void}} view  onDone: the page is free again
   */
  constructor(transport, runner, view) {
    this.transport = transport;
    this.runner = runner;
    this.view = view;
    transport.listen("train", (job) => this.take(job));
    transport.listen("twin", ({ training, step, loss }) => this.#twin(training, step, loss));
    transport.listen("train-cancel", ({ training }) => this.#halt(training));
    transport.listen("train-verdict", ({ report }) => this.#verdict(report));
  }

  get busy() {
    return this.shown !== null && this.shown.state !== "done";
  }

  /**
   * Asks the server for a training on this page, once where it is not answered yet (a double
   * press).
   *
   * @param {TrainRequest} what
   * @returns {Promise<void>}
   * @throws {import("./run-error.js").RunError} the server's refusal
   */
  start(what) {
    this.#asking ??= this.#ask(what).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** @param {TrainRequest} what */
  async #ask(what) {
    const body = { ...what, page: this.transport.page };
    const { training } = await this.transport.post("/api/trainings", body);
    // The job may have overtaken the answer.
    if (this.shown?.training !== training) this.#show(training, what);
  }

  /** Calls the training off; the server says the last word. */
  async stop() {
    const shown = this.shown;
    if (!shown || shown.state === "done") return;
    shown.stopped = true;
    try {
      // What came after it would be refused.
      await this.#halt(shown.training);
      await this.transport.post(`/api/trainings/${shown.training}/cancel`);
    } catch (error) {
      // It may have ended by itself meanwhile; its verdict is on its way then.
      if (!(await this.#lookUp(shown))) this.#over(shown, asRunError(error).message);
    }
  }

  /** @param {TrainJob} job */
  take(job) {
    if (this.#seen.has(job.training)) return;
    this.#seen.add(job.training);
    const shown = this.#show(job.training, job);
    this.#work = this.#work.then(() => this.#run(job, shown));
  }

  /** After the stream was down: what happened meanwhile to the training that is not over? */
  async resync() {
    const shown = this.shown;
    if (shown && shown.state !== "done") await this.#lookUp(shown);
  }

  /**
   * @param {TrainJob} job
   * @param {Shown} shown
   */
  async #run(job, shown) {
    if (shown.state === "done") return; // called off while it waited
    const abort = new AbortController();
    const path = `/api/trainings/${job.training}`;
    const steps = new StepSender((body) => this.transport.post(`${path}/steps`, body));
    steps.onFailure = () => abort.abort();
    /** @type {ProgressSender<TrainProgress>} */
    const progress = new ProgressSender((told) => this.transport.post(`${path}/progress`, told));
    this.#current = { training: job.training, abort, steps, progress };
    this.#change(shown, { state: "running" });
    try {
      /** @type {import("./train-runner.js").TrainHooks} */
      const hooks = {
        signal: abort.signal,
        onStep: (loss, elapsedNs) => {
          shown.losses.push(loss);
          shown.times.push(elapsedNs / 1e6);
          steps.push(loss, elapsedNs);
          this.#change(shown, { progress: null });
        },
        onProgress: (told) => {
          if (!abort.signal.aborted) this.#progress(shown, progress, told);
        },
      };
      const done = await this.runner().then((runner) => runner.run(job, hooks), notBegun);
      this.view.onDone();
      await Promise.all([steps.drained(), progress.end()]);
      // The server knows, it has the last word.
      if (done.error?.kind === "stopped" || abort.signal.aborted) return;
      this.#change(shown, { state: "judging" });
      // NumPy may take a while yet, and the next thing may start.
      const verdict = this.transport.post(`${path}/done`, done);
      verdict.then(
        (report) => this.#verdict(report),
        (error) => this.#lost(shown, error),
      );
    } catch (error) {
      await this.#lost(shown, error);
    } finally {
      this.#current = null;
    }
  }

  /**
   * What the page computed could not be delivered; the server may have judged without it.
   *
   * @param {Shown} shown
   * @param {unknown} error
   */
  async #lost(shown, error) {
    if (!(await this.#lookUp(shown))) this.#over(shown, asRunError(error).message);
  }

  /**
   * Asks the server what has become of a training. Whether that settled it.
   *
   * @param {Shown} shown
   */
  async #lookUp(shown) {
    try {
      this.#verdict(await this.transport.get(`/api/trainings/${shown.training}`));
    } catch (error) {
      const { status } = /** @type {{status?: number}} */ (error);
      if (status === 404) this.#over(shown, FORGOTTEN);
    }
    return shown.state === "done";
  }

  /**
   * Ends what this page does of a training; resolves once nothing of it is on its way.
   *
   * @param {string} training
   */
  async #halt(training) {
    const current = this.#current;
    if (current?.training !== training) return;
    current.abort.abort();
    await Promise.all([current.steps.stop(), current.progress.end()]);
  }

  /**
   * @param {string} training
   * @param {number} step
   * @param {number | string} loss
   */
  #twin(training, step, loss) {
    const shown = this.shown;
    if (shown?.training !== training || step !== shown.twin.length + 1) return;
    shown.twin.push(Number(loss));
    this.view.onChange();
  }

  /** @param {TrainReport} report */
  #verdict(report) {
    const shown = this.shown;
    if (!report.status || shown?.training !== report.training || shown.report) return;
    this.#halt(report.training); // a verdict without our result: a deadline, or a cancellation
    // The stream may have missed some.
    if (report.twin.length > shown.twin.length) shown.twin = report.twin.map(Number);
    this.#change(shown, { state: "done", report, problem: "", progress: null });
  }

  /**
   * @param {Shown} shown
   * @param {string} problem
   */
  #over(shown, problem) {
    this.#halt(shown.training);
    if (!shown.report) this.#change(shown, { state: "done", problem, progress: null });
  }

  /**
   * @param {Shown} shown
   * @param {ProgressSender<TrainProgress>} sender
   * @param {TrainProgress} progress
   */
  #progress(shown, sender, progress) {
    const now = performance.now();
    if (now - this.#progressAt < PROGRESS_MS && progress.done > 0) return;
    this.#progressAt = now;
    this.#change(shown, { progress });
    sender.tell(progress);
  }

  /**
   * @param {string} training
   * @param {TrainRequest | TrainJob} what
   */
  #show(training, what) {
    if (this.shown?.training === training) {
      this.shown.what = what;
      return this.shown;
    }
    this.shown = {
      training,
      what,
      state: "queued",
      losses: [],
      twin: [],
      times: [],
      progress: null,
      report: null,
      problem: "",
      stopped: false,
    };
    this.view.onChange();
    return this.shown;
  }

  /**
   * @param {Shown} shown
   * @param {Partial<Shown>} change
   */
  #change(shown, change) {
    if (shown.state === "done") return; // the first verdict stays
    Object.assign(shown, change);
    if (shown === this.shown) this.view.onChange();
  }
}
