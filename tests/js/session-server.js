// @ts-check
/** A page's session with a server and a runner that do what a test says. */
import { summarise } from "../../static/js/checks.js";
import { Session } from "../../static/js/session.js";

/** @typedef {import("../../static/js/transport.js").Job} Job */

export const SUITE = ["forward:T=4,D=8", "forward:T=5,D=8", "forward:T=6,D=8"];

/** Some turns of the event loop: what was due by then has happened, however slow the machine is. */
export async function settled() {
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setTimeout(resolve));
}

/** What waits for `opened` goes on once `open` is called. */
export function gate() {
  /** @type {() => void} */
  let open = () => {};
  const opened = /** @type {Promise<void>} */ (new Promise((resolve) => (open = resolve)));
  return { opened, open };
}

/** A server that hands out one job at a time, as ours does. */
class Server {
  /** @type {{run: string, case: string, state: string}[]} */
  runs = [];
  /** @type {string[]} */
  log = [];
  /** @type {Session | null} */
  session = null;
  /** @type {string[]} */
  asked = [];
  /** Answers are lost on their way. */
  deaf = false;
  /** What the page tells of a run is beyond some bound. */
  picky = false;

  /** @param {{suite?: string, case?: string}} what */
  async requestRuns(what) {
    const cases = what.suite ? SUITE : [String(what.case)];
    const made = cases.map((id) => ({
      run: `r${this.runs.length + 1}-${id}`,
      case: id,
      state: "queued",
    }));
    this.runs.push(...made);
    setTimeout(() => this.next()); // the job overtakes the answer
    await settled();
    return { runs: made.map(({ run }) => run), cases };
  }

  next() {
    if (this.runs.some(({ state }) => state === "sent")) return;
    const run = this.runs.find(({ state }) => state === "queued");
    if (!run) return;
    run.state = "sent";
    this.session?.take(job(run.run, run.case));
  }

  async putTensor() {
    if (this.deaf) throw Object.assign(new Error("no answer"), { status: 0 });
  }

  /** @param {string} id @param {{status: string, error: {message: string} | null}} done */
  async postDone(id, { status, error }) {
    const run = this.#find(id);
    if (this.picky && status === "ok") throw Object.assign(new Error("tile.Br"), { status: 422 });
    run.state = status === "ok" ? "pass" : "error";
    if (error) this.log.push(error.message);
    this.log.push(`done ${run.case}`);
    setTimeout(() => this.next());
    return { case: run.case, status: "pass", message: "", outputs: {} };
  }

  /** @param {string} _ @param {{phase: string}} progress */
  async postProgress(_, { phase }) {
    this.log.push(`progress ${phase}`);
  }

  /** @param {string} id */
  async cancel(id) {
    if (this.#find(id).state === "queued") await settled();
    this.log.push(`cancel ${this.#find(id).case}`);
    this.#find(id).state = "error";
    setTimeout(() => this.next());
  }

  /** @param {string} path */
  async get(path) {
    this.asked.push(path);
    if (path === "/api/runs") return this.runs;
    const run = this.runs.find(({ run }) => path.endsWith(run));
    if (!run) throw Object.assign(new Error("unknown"), { status: 404 });
    return ["pass", "error"].includes(run.state)
      ? { case: run.case, status: run.state, message: "", outputs: {} }
      : { run: run.run, state: run.state };
  }

  /** @param {string} id */
  #find(id) {
    const run = this.runs.find((other) => other.run === id);
    if (!run) throw Object.assign(new Error("unknown"), { status: 404 });
    return run;
  }
}

/**
 * @param {string} run
 * @param {string} id
 */
export function job(run, id) {
  return /** @type {Job} */ (/** @type {unknown} */ ({ run, case: id, deadline_ms: 1000 }));
}

/** @param {(job: Job, signal: AbortSignal, progress: (p: any) => void) => Promise<void>} [work] */
export function bench(work = async () => {}) {
  const server = new Server();
  const started = /** @type {string[]} */ ([]);
  const runner = {
    /** @param {Job} job @param {{signal: AbortSignal, progress: (p: any) => void}} hooks */
    async runJob(job, { signal, progress }) {
      started.push(job.case);
      await work(job, signal, progress);
      return { done: { status: "ok", error: null }, tensors: new Map([["o", new Uint8Array(4)]]) };
    },
  };
  const silent = {
    onList() {},
    onAdd() {},
    onUpdate() {},
    onActivity() {},
    onResult() {},
    onIdle() {},
  };
  const session = new Session(
    /** @type {any} */ (server),
    async () => /** @type {any} */ (runner),
    silent,
  );
  server.session = session;
  return { server, session, started };
}

/** @param {Session} session */
export async function over(session) {
  for (let n = 0; n < 200 && (session.busy || !session.over); n++) await settled();
  return summarise(session.entries);
}

/** Until the signal comes. @param {AbortSignal} signal @returns {Promise<void>} */
export const untilStopped = (signal) =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
