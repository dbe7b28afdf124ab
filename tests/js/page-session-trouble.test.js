// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { summarise } from "../../static/js/checks.js";
import { Session } from "../../static/js/session.js";
import { bench, job, over, SUITE, settled, untilStopped } from "./session-server.js";

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
