// The page's part in a training, beside a server and a GPU that are made up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StepSender } from "../../static/js/step-sender.js";
import { TrainSession } from "../../static/js/train-session.js";

/** @typedef {import("../../static/js/train-runner.js").TrainHooks} TrainHooks */
/** @typedef {{path: string, body: any}} Posted */

const settled = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));
const OK = { status: "ok", attention_passes: 4, kernels: [], size_bytes: 1, error: null };

/** A transport that answers as our server does, unless told to refuse. */
class Server {
  page = "this-page";
  /** @type {Posted[]} */
  posted = [];
  /** @type {Map<string, (data: any) => void>} */
  listeners = new Map();
  /** @type {Record<string, any>} what GET says, by training */
  known = {};
  refuse = "";
  /** The job is sent before the request for it is answered. */
  hasty = false;

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
    if (this.refuse && path.includes(this.refuse)) {
      throw Object.assign(new Error(`${path} was refused`), { status: 409 });
    }
    this.posted.push({ path, body });
    if (path === "/api/trainings") {
      if (this.hasty) this.send("train", job("t1"));
      await settled(1);
      return { training: "t1" };
    }
    if (path.endsWith("/cancel")) {
      const training = path.split("/")[3];
      this.send("train-cancel", { training });
      this.send("train-verdict", { report: report(training, "error", "stopped") });
    }
    if (path.endsWith("/done")) return report(path.split("/")[3], "pass", "fine");
    return undefined;
  }

  /** @param {string} path */
  async get(path) {
    const found = this.known[path.split("/")[3]];
    if (!found) throw Object.assign(new Error("unknown"), { status: 404 });
    return found;
  }

  /** @param {string} end */
  sent(end) {
    return this.posted.filter(({ path }) => path.endsWith(end)).map(({ body }) => body);
  }
}

/** @param {string} training @param {string | null} status @param {string} message */
function report(training, status, message) {
  return { training, state: status ?? "sent", status, message, losses: [], twin: [] };
}

/** @param {string} training */
function job(training) {
  return { training, preset: "tiny", gate: "drift", attention: "fa2", steps: 2 };
}

/** @param {(hooks: TrainHooks) => Promise<any>} [work] */
function bench(work = async (hooks) => steps(hooks, [5, 4])) {
  const server = new Server();
  /** @type {string[]} */
  const started = [];
  const runner = {
    /** @param {{training: string}} job @param {TrainHooks} hooks */
    async run({ training }, hooks) {
      started.push(training);
      return work(hooks);
    },
  };
  const session = new TrainSession(
    /** @type {any} */ (server),
    async () => /** @type {any} */ (runner),
    { onChange() {}, onDone() {} },
  );
  return { server, session, started };
}

/** @param {TrainHooks} hooks @param {number[]} losses */
function steps(hooks, losses) {
  for (const loss of losses) hooks.onStep(loss, 1e6);
  return OK;
}

/** What a runner says when its signal comes. @param {TrainHooks} hooks */
const untilStopped = ({ signal }) =>
  new Promise((resolve) =>
    signal.addEventListener("abort", () =>
      resolve({ ...OK, status: "error", error: { kind: "stopped", message: "" } }),
    ),
  );

/** @param {TrainSession} session */
async function over(session) {
  for (let n = 0; n < 100 && (session.busy || !session.shown); n++) await settled();
  assert.ok(session.shown);
  return session.shown;
}

const WHAT = /** @type {const} */ ({ preset: "tiny", gate: "drift", attention: "fa2" });

test("a page that cannot load what trains tells the server why", async () => {
  const { server, session } = bench();
  session.runner = () => Promise.reject(new Error("no train-runner.js"));
  server.send("train", job("t1"));
  await over(session);
  const [told] = server.sent("/done");
  assert.equal(told.status, "error");
  assert.match(told.error.message, /no train-runner\.js/);
});

for (const hasty of [false, true]) {
  test(`a training runs to its verdict, its job ${hasty ? "before" : "behind"} the answer`, async () => {
    const { server, session, started } = bench();
    server.hasty = hasty;
    await session.start(WHAT);
    if (!hasty) server.send("train", job("t1"));
    const shown = await over(session);
    assert.deepEqual(server.posted[0].body, { ...WHAT, page: "this-page" });
    assert.deepEqual(
      [shown.losses, shown.times],
      [
        [5, 4],
        [1, 1],
      ],
    );
    assert.equal(shown.report?.status, "pass");
    assert.deepEqual(started, ["t1"]);
    assert.deepEqual(
      server.sent("/steps").flatMap(({ losses }) => losses),
      [5, 4],
    );
    assert.deepEqual(server.sent("/done"), [OK]);
    assert.equal(server.posted.at(-1)?.path, "/api/trainings/t1/done", "after all steps");
  });
}

test("a refusal of the request is thrown, and nothing is shown", async () => {
  const { server, session } = bench();
  server.refuse = "/api/trainings";
  await assert.rejects(session.start(WHAT), /refused/);
  assert.equal(session.shown, null);
  assert.equal(session.busy, false);
});

test("the losses of NumPy are taken in order, once, and only for the training that is shown", async () => {
  const { server, session } = bench(untilStopped);
  server.send("train", job("t1"));
  await settled();
  server.send("twin", { training: "t1", step: 1, loss: 5.5 });
  server.send("twin", { training: "t1", step: 1, loss: 5.5 });
  server.send("twin", { training: "t1", step: 3, loss: 5.3 });
  server.send("twin", { training: "other", step: 2, loss: 9 });
  server.send("twin", { training: "t1", step: 2, loss: "NaN" });
  assert.deepEqual(session.shown?.twin, [5.5, Number.NaN]);
  const verdict = { ...report("t1", "fail", "apart"), twin: [5.5, 5.4, 5.3] };
  server.send("train-verdict", { report: verdict });
  assert.deepEqual(session.shown?.twin, [5.5, 5.4, 5.3], "the verdict has those that were missed");
});

test("a stop ends the training, says nothing of it to the server, and has a verdict", async () => {
  const { server, session } = bench(untilStopped);
  server.send("train", job("t1"));
  await settled();
  assert.ok(session.busy);
  await session.stop();
  const shown = await over(session);
  assert.deepEqual([shown.stopped, shown.report?.message], [true, "stopped"]);
  await settled(20);
  assert.deepEqual(server.sent("/done"), []);
});

test("nothing is sent behind a stop, which the server would refuse", async () => {
  const { server, session } = bench(async (hooks) => {
    steps(hooks, [5, 4]);
    const end = await untilStopped(hooks);
    steps(hooks, [3]); // what the GPU had begun
    hooks.onProgress({ phase: "step", done: 3, total: 9 });
    return end;
  });
  server.send("train", job("t1"));
  while (!session.shown?.losses.length) await settled(0);
  await session.stop(); // while steps are on their way
  await over(session);
  await settled(150);
  const paths = server.posted.map(({ path }) => path.split("/").at(-1));
  assert.deepEqual(paths.slice(-2), ["steps", "cancel"]);
});

test("a training that is stopped while it waits never runs", async () => {
  const { server, session, started } = bench();
  await session.start(WHAT);
  assert.equal(session.shown?.state, "queued");
  await session.stop();
  server.send("train", job("t1"));
  await settled(20);
  assert.deepEqual(started, []);
});

test("a job that comes twice runs once", async () => {
  const { server, session, started } = bench();
  server.send("train", job("t1"));
  server.send("train", job("t1"));
  await over(session);
  server.send("train", job("t1"));
  await settled(20);
  assert.deepEqual(started, ["t1"]);
});

test("the next job waits until the GPU is free of the one before", async () => {
  let free = () => {};
  const { server, session, started } = bench(
    (hooks) => new Promise((resolve) => (free = () => resolve(steps(hooks, [5])))),
  );
  server.send("train", job("t1"));
  await settled();
  server.send("train-cancel", { training: "t1" });
  server.send("train-verdict", { report: report("t1", "error", "a deadline passed") });
  server.send("train", job("t2"));
  await settled(20);
  assert.deepEqual(started, ["t1"]);
  free();
  await settled(20);
  assert.deepEqual(started, ["t1", "t2"]);
  assert.equal(session.shown?.training, "t2");
});

test("steps that the server refuses end the training with the server's word on it", async () => {
  let stopped = false;
  const { server, session } = bench(async (hooks) => {
    steps(hooks, [5]);
    const end = await untilStopped(hooks);
    stopped = true;
    return end;
  });
  server.refuse = "/steps";
  server.known.t1 = report("t1", "error", "the deadline had passed");
  server.send("train", job("t1"));
  const shown = await over(session);
  assert.equal(shown.report?.message, "the deadline had passed");
  assert.ok(stopped);
});

test("a server that has forgotten the training is an end too", async () => {
  const { server, session } = bench(untilStopped);
  server.send("train", job("t1"));
  await settled();
  await session.resync();
  const shown = await over(session);
  assert.equal(shown.report, null);
  assert.match(shown.problem, /restarted/);
});

test("after a mere gap in the stream, the training goes on", async () => {
  const { server, session } = bench(untilStopped);
  server.send("train", job("t1"));
  await settled();
  server.known.t1 = report("t1", null, "");
  await session.resync();
  assert.equal(session.shown?.state, "running");
});

test("steps are sent in order, many at once, and words stand for what is no number", async () => {
  /** @type {import("../../static/js/step-sender.js").Steps[]} */
  const bodies = [];
  let open = 0;
  const sender = new StepSender(async (body) => {
    assert.equal(++open, 1, "one request at a time");
    await settled(2);
    open -= 1;
    bodies.push(body);
  });
  const losses = [...Array(2500).keys()].map((n) => 5 - n / 1000);
  for (const loss of losses) sender.push(loss, 7);
  sender.push(Number.NaN, 7);
  sender.push(-Infinity, 7);
  await sender.drained();
  assert.deepEqual(
    bodies.flatMap((body) => body.losses),
    [...losses, "NaN", "-inf"],
  );
  assert.ok(bodies.every((body) => body.losses.length <= 1000));
  let next = 1;
  for (const { first, losses, elapsed_ns } of bodies) {
    assert.deepEqual([first, elapsed_ns.length], [next, losses.length]);
    next += losses.length;
  }
});

test("a request that fails is told once, and nothing is sent after it", async () => {
  let requests = 0;
  let failures = 0;
  const sender = new StepSender(async () => {
    requests += 1;
    throw new Error("no answer");
  });
  sender.onFailure = () => {
    failures += 1;
  };
  sender.push(5, 1);
  await settled();
  sender.push(4, 1);
  await assert.rejects(sender.drained(), /no answer/);
  assert.deepEqual([requests, failures], [1, 1]);
});
