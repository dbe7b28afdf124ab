// The page's part in a benchmark, beside a server and a GPU that are made up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BenchSession } from "../../static/js/bench-session.js";
import { gate } from "./session-server.js";

const settled = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));
const CASE = "forward:T=8,D=4";
const OK = { status: "ok", gpu_ns: [1], error: null };
const report = (/** @type {string} */ bench, status = "timed") => ({
  bench,
  case: CASE,
  state: status,
  status,
  message: "said",
  progress: null,
});
const job = (/** @type {string} */ bench) => ({ bench, case: CASE });

/** A transport that answers as our server does, unless told to refuse. */
class Server {
  page = "this-page";
  /** @type {{path: string, body: any}[]} */
  posted = [];
  /** @type {Map<string, (data: any) => void>} */
  listeners = new Map();
  /** @type {Record<string, any>} what GET says, by benchmark */
  known = {};
  refuse = "";
  /** Sent before the request for it is answered. @type {[string, any] | null} */
  hasty = null;

  /** @param {string} type @param {(data: any) => void} then */
  listen(type, then) {
    this.listeners.set(type, then);
  }

  /** @param {string} type @param {object} data */
  send(type, data) {
    this.listeners.get(type)?.(data);
  }

  /** @param {string} path @param {any} [body] */
  async post(path, body) {
    await settled(1);
    if (this.refuse && path.endsWith(this.refuse)) throw new Error(`${path} was refused`);
    this.posted.push({ path, body });
    if (path === "/api/benches") {
      if (this.hasty) this.send(...this.hasty);
      await settled(1);
      return { bench: "b1", run: "r1", case: CASE };
    }
    const bench = path.split("/")[3];
    if (path.endsWith("/cancel")) {
      this.send("bench-cancel", { bench });
      this.send("bench-report", { report: report(bench, "error") });
    }
    return path.endsWith("/done") ? report(bench) : undefined;
  }

  /** @param {string} path */
  async get(path) {
    const found = this.known[path.split("/")[3]];
    if (!found) throw Object.assign(new Error("unknown"), { status: 404 });
    return found;
  }
}

/** Resolves once nothing is under way: a machine that is busy takes its time. @param {BenchSession} one */
async function over(one) {
  while (one.busy) await settled(1);
}

/** @param {(job: any, hooks: any) => Promise<any>} run */
function session(run = async () => OK) {
  const server = new Server();
  const view = { changes: 0, onChange: () => view.changes++, onDone: () => {} };
  const runner = async () => /** @type {any} */ ({ run });
  const made = new BenchSession(/** @type {any} */ (server), runner, view);
  return { server, session: made, view };
}

test("a case is asked for, timed when its job comes, and its report is shown", async () => {
  const { server, session: one } = session();
  await one.start({ case: CASE, kernel: "fa2" });
  assert.deepEqual(server.posted[0].body, { case: CASE, kernel: "fa2", page: "this-page" });
  assert.deepEqual([one.all[0].state, one.busy], ["checking", true]);
  server.send("bench", job("b1"));
  await over(one);
  assert.deepEqual([one.all[0].state, one.busy], ["done", false]);
  assert.equal(one.all[0].report?.status, "timed");
  assert.equal(server.posted.filter(({ path }) => path.endsWith("/done")).length, 1);
});

test("a case that is wrong ends without a job, also before the request is answered", async () => {
  for (const hasty of [null, ["bench-report", { report: report("b1", "fail") }]]) {
    const { server, session: one } = session();
    server.hasty = /** @type {any} */ (hasty);
    await one.start({ case: CASE });
    if (!hasty) server.send("bench-report", { report: report("b1", "fail") });
    assert.deepEqual([one.all.length, one.busy], [1, false]);
    assert.equal(one.all[0].report?.status, "fail");
  }
});

test("jobs of the command line are done one after the other, each once", async () => {
  let running = 0;
  /** @type {string[]} */
  const order = [];
  const { server, session: one } = session(async ({ bench }) => {
    assert.equal(++running, 1);
    order.push(bench);
    await settled(2);
    running--;
    return OK;
  });
  for (const bench of ["x", "y", "x"]) server.send("bench", job(bench));
  await over(one);
  assert.deepEqual(order, ["x", "y"]);
  assert.ok(one.all.every(({ report: found }) => found?.status === "timed"));
});

test("a page that cannot load what times kernels tells the server why", async () => {
  const { server, session: one } = session();
  one.runner = () => Promise.reject(new Error("no bench-runner.js"));
  server.send("bench", job("x"));
  await over(one);
  const [{ path, body }] = server.posted;
  assert.deepEqual([path, body.status], ["/api/benches/x/done", "error"]);
  assert.match(body.error.message, /no bench-runner\.js/);
});

test("stop ends what runs and what waits, and the server has the last word", async () => {
  const { server, session: one } = session(
    (_, { signal }) =>
      new Promise((resolve) => {
        const stopped = { status: "error", error: { kind: "stopped", message: "" } };
        signal.addEventListener("abort", () => resolve(stopped));
      }),
  );
  server.send("bench", job("x"));
  server.send("bench", job("y"));
  await settled();
  await one.stop();
  await over(one);
  assert.deepEqual(
    one.all.map(({ report: found }) => found?.status),
    ["error", "error"],
  );
  assert.ok(!server.posted.some(({ path }) => path.endsWith("/done")));
});

test("progress is told, not more often than a person can read, and never stops anything", async () => {
  const { server, session: one } = session(async (_, { onProgress }) => {
    for (let n = 0; n < 50; n++) onProgress({ phase: "samples", done: n, total: 50 });
    onProgress({ phase: "wall", done: 0, total: 10 });
    assert.equal(one.all[0].progress?.phase, "wall");
    return OK;
  });
  server.refuse = "/progress";
  server.send("bench", job("x"));
  await over(one);
  assert.equal(one.all[0].report?.status, "timed");
});

test("a double press asks for one benchmark", async () => {
  const { server, session: one } = session();
  await Promise.all([one.start({ case: CASE }), one.start({ case: CASE })]);
  assert.deepEqual([server.posted.length, one.all.length], [1, 1]);
  await one.start({ case: CASE });
  assert.equal(server.posted.length, 2, "the next press is another one");
});

test("what ends a benchmark is sent behind its last progress, not beside it", async () => {
  for (const end of ["done", "cancel"]) {
    const { server, session: one } = session(async (_, { signal, onProgress }) => {
      onProgress({ phase: "samples", done: 0, total: 50 });
      if (end === "cancel") await new Promise((stop) => signal.addEventListener("abort", stop));
      return end === "done" ? OK : { status: "error", error: { kind: "stopped", message: "" } };
    });
    const post = server.post.bind(server);
    const { opened, open } = gate();
    server.post = async (path, body) => {
      if (path.endsWith("/progress")) await opened;
      return post(path, body);
    };
    server.send("bench", job("x"));
    await settled();
    const ended = end === "cancel" && one.stop();
    await settled();
    assert.deepEqual(server.posted, []);
    open();
    await ended;
    await over(one);
    assert.deepEqual(
      server.posted.map(({ path }) => path.split("/").at(-1)),
      ["progress", end],
    );
  }
});

test("a result that cannot be delivered is looked up, and lost where nobody knows it", async () => {
  for (const known of [{}, { x: report("x", "error") }]) {
    const { server, session: one } = session();
    server.refuse = "/done";
    server.known = known;
    server.send("bench", job("x"));
    await over(one);
    if ("x" in known) assert.equal(one.all[0].report?.message, "said");
    else assert.match(one.all[0].problem, /no longer knows/);
  }
});
