// @ts-check
// What reaches the page's session in another order than it was sent.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bench, job, over, SUITE, settled, untilStopped } from "./session-server.js";

const report = (/** @type {string} */ status) =>
  /** @type {any} */ ({ case: SUITE[0], status, message: "", outputs: {} });

test("a verdict that overtakes the answer to the request is the run's", async () => {
  const { server, session } = bench();
  server.next = () => {}; // another page does it
  const asked = session.start({ case: SUITE[0] });
  session.verdict(server.runs[0].run, report("fail"));
  session.verdict("unknown", report("pass"));
  await asked;
  assert.deepEqual([session.busy, session.entries.length], [false, 1]);
  assert.equal(session.entries[0].report?.status, "fail");
});

test("a job whose verdict has come before it could be taken does not run", async () => {
  const { server, session, started } = bench();
  server.next = () => {};
  const asked = session.start({ case: SUITE[0] });
  const { run } = server.runs[0];
  const taken = session.take(job(run, SUITE[0]));
  session.verdict(run, report("error"));
  await Promise.all([asked, taken]);
  await settled();
  assert.deepEqual([started, session.busy], [[], false]);
});

test("what ends a run is sent behind its last progress, not beside it", async () => {
  for (const end of ["done", "cancel"]) {
    /** @type {() => void} */
    let finish = () => {};
    const { server, session } = bench((_, signal, progress) => {
      progress({ phase: "run", done: 0, total: 1 });
      const finished = new Promise((resolve) => (finish = () => resolve(undefined)));
      return Promise.race([untilStopped(signal), finished]).then(() => {
        progress({ phase: "readback", done: 0, total: 1 });
      });
    });
    /** @type {() => void} */
    let answer = () => {};
    server.postProgress = (_, { phase }) => {
      server.log.push(`progress ${phase}`);
      return new Promise((resolve) => {
        answer = () => {
          server.log.push("answered");
          resolve();
        };
      });
    };
    await session.start({ case: SUITE[0] });
    while (!server.log.length) await settled();
    const ended = end === "done" ? finish() : session.stop();
    await settled();
    assert.deepEqual(server.log, ["progress run"]);
    answer();
    await ended;
    if (end === "done") await over(session);
    assert.deepEqual(server.log, ["progress run", "answered", `${end} ${SUITE[0]}`]);
  }
});
