// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { summarise } from "../../static/js/checks.js";
import { bench, job, over, SUITE, settled, untilStopped } from "./session-server.js";

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
