// @ts-check
import { doing, entryOf, ofOwn } from "./entry.js";
import { JobQueue } from "./job-queue.js";
import { ProgressSender } from "./progress-sender.js";
import { notBegun, RunError } from "./run-error.js";
import { Watch } from "./watch.js";

/** @typedef {import("./checks.js").Entry} Entry */
/** @typedef {import("./checks.js").Report} Report */
/** @typedef {import("./transport.js").Job} Job */
/** @typedef {import("./transport.js").Transport} Transport */
/** @typedef {import("./runner.js").Runner} Runner */
/** @typedef {import("./own/types.js").Own} Own */
/** @typedef {import("./runner.js").Progress} Progress */
/** @typedef {import("./runner.js").Result} Result */

/**
 * @typedef {object} View who shows a session
 * @property {(entries: Entry[]) => void} onList   another list
 * @property {(entry: Entry) => void} onAdd        one more at its end
 * @property {(entry: Entry) => void} onUpdate
 * @property {(text: string) => void} onActivity
 * @property {(result: Result) => void} onResult   a run is over on this page; no verdict yet
 * @property {() => void} onIdle
 */

const FORGOTTEN = "the server no longer knows this run: it was restarted, or has forgotten it";
/** HTTP's words for a body that is not as it has to be: nothing of it was taken. */
const UNFIT = [400, 413, 422];
/** Time for the tensors of one run to reach the server. */
const UPLOAD_MS = 120_000;
/** Progress is told at most this often: a small case tells none. */
const PROGRESS_MS = 250;

/**
 * The cases on this page and what has become of each: runs that this page asked for, and runs
 * that were sent to it by somebody else (the command line, pytest).
 */
export class Session {
  /** @type {Entry[]} */
  entries = [];
  /** The list was asked for on this page, and not sent to it. */
  own = false;
  /** @type {Promise<unknown>} a request for runs, whose jobs may arrive before its answer */
  #requested = Promise.resolve();
  /** @type {Promise<string[]> | null} that request, as its asker sees it */
  #asking = null;
  /** @type {Set<string>} runs that were stopped here and may still be heard of */
  #calledOff = new Set();
  /** @type {Map<string, Report>} verdicts that overtook the answer, until it is there */
  #early = new Map();
  /** @type {{run: string, progress: ProgressSender<Progress>} | null} what is told of the job */
  #telling = null;
  #queue;

  /**
   * @param {Transport} transport
   * @param {() => Promise<Runner>} runner  loaded for the first job
   * @param {View} view
   */
  constructor(transport, runner, view) {
    this.transport = transport;
    this.view = view;
    this.#queue = new JobQueue({
      run: (job, signal, progress) =>
        runner().then(
          (able) => able.runJob(job, { signal, progress }),
          (error) => ({ done: notBegun(error), tensors: new Map() }),
        ),
      deliver: (job, result, signal) => this.#deliver(job, result, signal),
      onStart: (job) => {
        const post = (/** @type {Progress} */ told) => transport.postProgress(job.run, told);
        this.#telling = { run: job.run, progress: new ProgressSender(post, PROGRESS_MS) };
        this.#update(job.run, { state: "running" });
      },
      onProgress: (job, progress) => this.#progress(job, progress),
      onProblem: (job, problem) => this.#settle(job.run, problem),
      onIdle: () => {
        this.view.onActivity("");
        this.view.onIdle();
      },
    });
  }

  get busy() {
    return this.#open().length > 0;
  }

  /** Nothing is under way, and something was. */
  get over() {
    return !this.busy && this.entries.some(({ state }) => state === "done");
  }

  /**
   * A list of cases that nobody has asked to run yet.
   *
   * @param {string[]} cases
   */
  plan(cases) {
    this.own = true;
    this.#list(cases.map((id) => entryOf(id)));
  }

  /**
   * Asks the server for runs on this page. Who asks while that is not answered yet (a double
   * press) is given the same answer.
   *
   * @param {import("./context.js").RunBody} what
   * @returns {Promise<string[]>} the cases as the server understands them
   * @throws {RunError} the server's refusal
   */
  start(what) {
    this.#asking ??= this.#ask(what).finally(() => {
      this.#asking = null;
      this.#early.clear();
    });
    return this.#asking;
  }

  /** @param {import("./context.js").RunBody} what */
  async #ask(what) {
    const request = this.transport.requestRuns(what);
    this.#requested = request.catch(() => {});
    const { runs, cases } = await request;
    this.own = true;
    const also = ofOwn(/** @type {Own | undefined} */ (/** @type {unknown} */ (what.own)));
    this.#list(cases.map((id, n) => ({ ...entryOf(id), run: runs[n], state: "queued", ...also })));
    for (const [run, report] of this.#early) this.verdict(run, report);
    return cases;
  }

  /** Calls everything off that is not over. */
  async stop() {
    const open = this.#open();
    if (!open.length) return;
    const runs = open.map(({ run }) => run);
    const ended = runs.map((run) => {
      this.#calledOff.add(run);
      this.#update(run, { state: "planned", run: "" });
      return this.#end(run);
    });
    this.view.onActivity("");
    // What waits goes first: a server that is told of the current run alone sends the next one.
    const [current, ...waiting] = runs;
    await Promise.allSettled(waiting.map((run) => this.transport.cancel(run)));
    await Promise.all(ended);
    await this.transport.cancel(current).catch(() => {}); // it may be over by now
  }

  /** @param {Job} job */
  async take(job) {
    await this.#requested;
    if (this.#calledOff.has(job.run) || this.#find(job.run)?.report) return;
    if (!this.#find(job.run)) {
      if (!this.busy && this.entries.every(({ state }) => state === "planned")) this.#list([]);
      this.own = false;
      const entry = { ...entryOf(job.case), run: job.run, state: /** @type {const} */ ("queued") };
      this.entries.push(entry);
      this.view.onAdd(entry);
    }
    Object.assign(this.#find(job.run) ?? {}, ofOwn(job.own));
    this.#queue.push(job);
  }

  /**
   * Another page, which does a run that was asked for here, has told how far it is.
   *
   * @param {string} run
   * @param {Progress} progress
   * @param {string} where  the name of that page
   */
  progressed(run, progress, where) {
    const entry = this.#find(run);
    if (!entry || entry.state === "done") return;
    if (entry.state === "queued") this.#update(run, { state: "running" });
    this.view.onActivity(doing(`${entry.case} · on ${where}`, progress));
  }

  /** @param {string} run */
  cancelled(run) {
    this.#end(run);
  }

  /**
   * @param {string} run
   * @param {Report} report
   */
  verdict(run, report) {
    if (this.#asking && !this.#find(run)) this.#early.set(run, report);
    this.#end(run); // a verdict without our result: a deadline, or a cancellation
    this.#update(run, { state: "done", report, problem: "" });
    if (!this.busy) this.view.onActivity(""); // of a page that did it in place of this one
  }

  /** After the stream was down: what happened meanwhile to the runs that are not over? */
  async resync() {
    const open = this.#open();
    if (!open.length) return;
    /** @type {{run: string, state: string}[]} */
    const known = await this.transport.get("/api/runs");
    for (const { run } of open) {
      const state = known.find((other) => other.run === run)?.state;
      if (state === undefined) this.#lose(run, FORGOTTEN);
      else if (!["queued", "sent", "judging"].includes(state)) await this.#lookUp(run, "");
    }
  }

  /**
   * Tensors, then the account of the run. The verdict is not waited for: the next run may start.
   *
   * @param {Job} job
   * @param {Result} result
   * @param {AbortSignal} signal
   */
  async #deliver({ run }, result, signal) {
    this.view.onResult(result);
    const watch = new Watch(UPLOAD_MS, signal);
    try {
      const uploads = [...result.tensors].map(([name, data]) =>
        this.transport.putTensor(run, name, data),
      );
      const all = Promise.all([...uploads, this.#hush(run)]);
      await watch.race("uploading the tensors", all);
    } finally {
      watch.close();
    }
    this.transport.postDone(run, result.done).then(
      (report) => this.verdict(run, report),
      (error) => this.#settle(run, error),
    );
  }

  /**
   * The result could not be delivered. The server may have judged without it (a deadline).
   *
   * @param {string} run
   * @param {RunError & {status?: number}} problem
   */
  async #settle(run, problem) {
    this.#hush(run);
    if (UNFIT.includes(problem.status ?? 0)) await this.#tellRefusal(run, problem.message);
    if (problem.kind !== "stopped") await this.#lookUp(run, problem.message);
  }

  /**
   * Else the server would wait for its deadline, and nobody would hear why.
   *
   * @param {string} run
   * @param {string} why
   */
  async #tellRefusal(run, why) {
    const message = `the server refused what this page told of the run: ${why}`.slice(0, 2000);
    await this.transport.postDone(run, notBegun(new RunError("page", message))).catch(() => {});
  }

  /**
   * Asks the server for the verdict on a run.
   *
   * @param {string} run
   * @param {string} problem  what to say if there is none; "" = keep waiting
   */
  async #lookUp(run, problem) {
    let found;
    try {
      found = await this.transport.get(`/api/runs/${run}`);
    } catch (error) {
      const { status } = /** @type {{status?: number}} */ (error);
      if (status === 404) problem = FORGOTTEN;
    }
    if (found?.status) this.verdict(run, found);
    else if (problem) this.#lose(run, problem);
  }

  /**
   * @param {string} run
   * @param {string} problem
   */
  #lose(run, problem) {
    this.#end(run);
    this.#update(run, { state: "done", problem });
  }

  /**
   * Ends what this page does of a run; resolves once nothing is on its way that a server which
   * knows of the end would refuse.
   *
   * @param {string} run
   */
  #end(run) {
    this.#queue.cancel(run);
    return this.#hush(run);
  }

  /** No more progress of a run. @param {string} run */
  async #hush(run) {
    if (this.#telling?.run === run) await this.#telling.progress.end();
  }

  #open() {
    return this.entries.filter(({ state }) => state === "queued" || state === "running");
  }

  /**
   * Tells the latest every so often: a kernel that never ends is heard of in the phase that it
   * never ends in.
   *
   * @param {Job} job
   * @param {Progress} progress
   */
  #progress(job, progress) {
    this.view.onActivity(doing(job.case, progress));
    if (this.#telling?.run === job.run) this.#telling.progress.tell(progress);
  }

  /** @param {Entry[]} entries */
  #list(entries) {
    this.entries = entries;
    this.view.onList(entries);
  }

  /** @param {string} run */
  #find(run) {
    return this.entries.find((entry) => entry.run === run);
  }

  /**
   * @param {string} run
   * @param {Partial<Entry>} change
   */
  #update(run, change) {
    const entry = this.#find(run);
    if (!entry || entry.report) return; // called off, or judged already: the first verdict stays
    Object.assign(entry, change);
    this.view.onUpdate(entry);
  }
}
