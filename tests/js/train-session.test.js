// The page's part in a training, beside a server and a GPU that are made up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StepSender } from "../../static/js/step-sender.js";
import {
  bench,
  held,
  job,
  OK,
  over,
  report,
  settled,
  steps,
  untilStopped,
  WHAT,
} from "./train-server.js";

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

test("a double press asks for one training", async () => {
  const { server, session } = bench(untilStopped);
  await Promise.all([session.start(WHAT), session.start(WHAT)]);
  assert.equal(server.posted.length, 1);
  await session.stop();
  await session.start(WHAT);
  assert.equal(server.sent("/api/trainings").length, 2, "the next press is another one");
});

test("a stop ends the training that is shown, and no other", async () => {
  let stopped = false;
  const { server, session, started } = bench(async (hooks) => {
    const end = await untilStopped(hooks);
    stopped = true;
    return end;
  });
  server.send("train", job("t1"));
  server.send("train", job("t2")); // waits for the GPU
  await settled();
  await session.stop();
  await settled();
  assert.deepEqual([session.shown?.training, session.busy, stopped], ["t2", false, false]);
  assert.equal(server.posted.at(-1)?.path, "/api/trainings/t2/cancel");
  server.send("train-cancel", { training: "t1" });
  await settled();
  assert.deepEqual(
    [stopped, started],
    [true, ["t1"]],
    "it can be called off while it is not shown",
  );
});

test("what ends a training is sent behind its last progress, not beside it", async () => {
  for (const end of ["done", "cancel"]) {
    const { server, session } = bench(async (hooks) => {
      hooks.onProgress({ phase: "prepare", done: 0, total: 1 });
      return end === "done" ? OK : untilStopped(hooks);
    });
    const answer = held(server);
    server.send("train", job("t1"));
    await settled();
    const ended = end === "cancel" && session.stop();
    await settled();
    assert.deepEqual(server.posted, []);
    answer();
    await ended;
    await over(session);
    assert.deepEqual(
      server.posted.map(({ path }) => path.split("/").at(-1)),
      ["progress", end],
    );
  }
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
