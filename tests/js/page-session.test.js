// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { summarise } from "../../static/js/checks.js";
import { Session } from "../../static/js/session.js";

/** @typedef {import("../../static/js/transport.js").Job} Job */

const SUITE = ["forward:T=4,D=8", "forward:T=5,D=8", "forward:T=6,D=8"];
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

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
  postProgress(_, { phase }) {
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
function job(run, id) {
  return /** @type {Job} */ (/** @type {unknown} */ ({ run, case: id, deadline_ms: 1000 }));
}

/** @param {(job: Job, signal: AbortSignal, progress: (p: any) => void) => Promise<void>} [work] */
function bench(work = async () => {}) {
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
async function over(session) {
  for (let n = 0; n < 200 && (session.busy || !session.over); n++) await settled();
  return summarise(session.entries);
}

/** Until the signal comes. @param {AbortSignal} signal @returns {Promise<void>} */
const untilStopped = (signal) =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

test("a suite runs to its end, also when the first job overtakes the answer to its request", async () => {
  const { session, started } = bench();
  await session.start({ suite: "seed" });
  const { headline, cases } = await over(session);
  assert.deepEqual([headline, cases], ["ALL PASS", 3]);
  assert.deepEqual(started, SUITE);
});

test("a line knows the kernel that is not ours, whether it was asked for here or sent", async () => {
  const { server, session } = bench();
  const own = { name: "mine", manifest: {}, files: { "mine.wgsl": "fn a() {}" } };
  server.next = () => {}; // another page does it
  await session.start({ case: SUITE[0], own });
  assert.deepEqual([session.entries[0].own, session.entries[0].ownKernel], ["mine", own]);
  const named = { ...own, manifest: { name: "called" } };
  await session.take({ ...job("r9", SUITE[1]), own: /** @type {any} */ (named) });
  const sent = session.entries.find(({ run }) => run === "r9");
  assert.deepEqual([sent?.own, sent?.ownKernel], ["called", named]);
});

test("a stop ends the current case and cancels what waits, the current one last", async () => {
  const { server, session, started } = bench((_, signal) => untilStopped(signal));
  await session.start({ suite: "seed" });
  await settled();
  await session.stop();
  const { verdict, done } = summarise(session.entries);
  assert.deepEqual([verdict, done, session.busy], ["planned", 0, false]);
  assert.deepEqual(started, [SUITE[0]]);
  assert.deepEqual(server.log.toSorted(), SUITE.map((id) => `cancel ${id}`).toSorted());
  assert.equal(server.log.at(-1), `cancel ${SUITE[0]}`);
});

test("what is still heard of a stopped run changes nothing", async () => {
  const { server, session } = bench((_, signal) => untilStopped(signal));
  await session.start({ suite: "seed" });
  await session.stop();
  const [{ run }] = server.runs;
  await session.take(job(run, SUITE[0]));
  session.verdict(run, /** @type {any} */ ({ case: SUITE[0], status: "error", outputs: {} }));
  await settled();
  assert.equal(session.entries.length, 3);
  assert.ok(session.entries.every(({ state }) => state === "planned"));
});

test("a job that comes twice runs once", async () => {
  const { session, started } = bench();
  const repeated = job("a", "forward:T=4,D=8");
  await session.take(repeated);
  await session.take(repeated);
  await settled();
  await session.take(repeated);
  await settled();
  assert.deepEqual(started, ["forward:T=4,D=8"]);
});

test("jobs that others ask for take the place of a plan and are added to results", async () => {
  const { session } = bench();
  session.plan(SUITE);
  await session.take(job("a", "forward:T=9,D=8"));
  assert.deepEqual(
    session.entries.map((entry) => entry.case),
    ["forward:T=9,D=8"],
  );
  assert.equal(session.own, false);
  await settled();
  await session.take(job("b", "forward:T=10,D=8"));
  assert.equal(session.entries.length, 2);
});

test("a result that cannot be delivered is an error, unless the server has judged by then", async () => {
  const { server, session } = bench();
  server.deaf = true;
  await session.start({ case: "forward:T=4,D=8" });
  await over(session);
  const [lost] = session.entries;
  assert.equal(lost.report, null);
  assert.match(lost.problem, /no answer/);

  const late = bench(async () => {
    late.server.runs[0].state = "error"; // the deadline passed at the server
  });
  late.server.deaf = true;
  await late.session.start({ case: "forward:T=4,D=8" });
  await over(late.session);
  assert.equal(late.session.entries[0].report?.status, "error");
});

test("a run whose account the server refuses ends at once, with the reason", async () => {
  const { server, session } = bench();
  server.picky = true;
  await session.start({ case: "forward:T=4,D=8" });
  await over(session);
  assert.equal(session.entries[0].report?.status, "error");
  assert.match(server.log.join("\n"), /refused what this page told of the run: tile\.Br/);
});

test("after a restart of the server its forgotten runs are errors and the page runs again", async () => {
  const { server, session } = bench((_, signal) => untilStopped(signal));
  await session.start({ suite: "seed" });
  await settled();
  server.runs = [];
  await session.resync();
  await settled();
  assert.equal(summarise(session.entries).headline, "3 FAILED");
  assert.match(session.entries[2].problem, /restarted/);
  assert.deepEqual(server.asked, ["/api/runs"]); // one question, not one a run
  assert.equal(session.busy, false);
});

test("after a mere gap in the stream, runs go on", async () => {
  const { session } = bench((_, signal) => untilStopped(signal));
  await session.start({ suite: "seed" });
  await settled();
  await session.resync();
  assert.ok(session.busy);
  assert.equal(summarise(session.entries).done, 0);
});

test("a verdict that comes before the result ends the run on the page", async () => {
  const { server, session, started } = bench((_, signal) => untilStopped(signal));
  await session.start({ case: "forward:T=4,D=8" });
  await settled();
  const [{ run }] = server.runs;
  session.verdict(
    run,
    /** @type {any} */ ({ case: "", status: "error", message: "", outputs: {} }),
  );
  await settled();
  assert.equal(session.busy, false);
  await session.take(job("next", "forward:T=5,D=8"));
  await settled();
  assert.deepEqual(started.length, 2);
});

test("the first verdict stays", async () => {
  const { session } = bench();
  await session.start({ case: "forward:T=4,D=8" });
  await over(session);
  const [{ run }] = session.entries;
  session.verdict(run, /** @type {any} */ ({ case: "", status: "fail", message: "", outputs: {} }));
  assert.equal(session.entries[0].report?.status, "pass");
});

test("progress is told now and then, the latest of it, and not once the run is over", async () => {
  const tell = (/** @type {(p: any) => void} */ progress, /** @type {string[]} */ phases) => {
    for (const phase of phases) progress({ phase, done: 0, total: 1 });
  };
  const slow = bench(async (_, __, progress) => {
    tell(progress, ["inputs", "compile", "run"]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    tell(progress, ["readback"]);
  });
  await slow.session.start({ case: "forward:T=4,D=8" });
  await over(slow.session);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.deepEqual(slow.server.log, ["progress run", "done forward:T=4,D=8"]);
});

test("a run that another page does shows where it is and ends with the verdict", async () => {
  const { server, session } = bench();
  server.next = () => {}; // no job comes here
  /** @type {string[]} */
  const activity = [];
  session.view.onActivity = (text) => activity.push(text);
  await session.start({ case: SUITE[0], page: "phone" });
  const { run } = session.entries[0];
  session.progressed(run, { phase: "compile", done: 0, total: 1 }, "pixel8");
  assert.equal(session.entries[0].state, "running");
  assert.deepEqual(activity, [`${SUITE[0]} · on pixel8 · compile`]);
  const report = { case: SUITE[0], status: "pass", message: "", outputs: {} };
  session.verdict(run, /** @type {any} */ (report));
  assert.deepEqual([session.over, activity.at(-1)], [true, ""]);
  session.progressed(run, { phase: "upload", done: 0, total: 1 }, "pixel8");
  assert.deepEqual([session.over, activity.at(-1)], [true, ""], "late news change nothing");
});

test("a double press asks for its runs once", async () => {
  const { server, session, started } = bench();
  const [one, other] = await Promise.all([
    session.start({ suite: "seed" }),
    session.start({ suite: "seed" }),
  ]);
  assert.equal(one, other);
  assert.equal(server.runs.length, SUITE.length);
  while (session.busy) await settled();
  assert.deepEqual(started, SUITE);
  await session.start({ suite: "seed" });
  assert.equal(server.runs.length, 2 * SUITE.length);
});

test("a page that cannot load what runs kernels tells the server why, and tries for the next job", async () => {
  let tries = 0;
  const { server, session, started } = bench();
  const able = new Session(
    /** @type {any} */ (server),
    async () => {
      if (++tries === 1) throw new Error("no runner.js");
      return /** @type {any} */ ({
        runJob: async () => ({ done: { status: "ok", error: null }, tensors: new Map() }),
      });
    },
    session.view,
  );
  server.session = able;
  for (const _ of [1, 2]) {
    await able.start({ case: SUITE[0] });
    await over(able);
  }
  assert.deepEqual([tries, started], [2, []]);
  assert.deepEqual(
    server.runs.map(({ state }) => state),
    ["error", "pass"],
  );
  assert.match(server.log[0], /no runner\.js/);
});
