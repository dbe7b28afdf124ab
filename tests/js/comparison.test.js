// Two kernels beside each other, and the sides that there are to choose from.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CompareSession } from "../../static/js/compare-session.js";
import { groupsOf, labelOf } from "../../static/js/compare-sides.js";
import {
  formatSpan,
  isSame,
  rowsOf,
  sentenceOf,
  spanOf,
  timeRatio,
} from "../../static/js/comparison.js";
import { gate } from "./session-server.js";

const CASE = "forward:T=8,D=4";
const report = (/** @type {Record<string, any>} */ ratios, status = "pass") =>
  /** @type {any} */ ({
    status,
    kernel: "k",
    message: "said",
    outputs: Object.fromEntries(
      Object.entries(ratios).map(([name, worst_ratio]) => [name, { worst_ratio, bad: 0 }]),
    ),
  });
const timed = (/** @type {number[]} */ ...[p20_ns, median_ns, p80_ns]) =>
  /** @type {any} */ ({ status: "timed", p20_ns, median_ns, p80_ns });

test("a row holds both errors, their quotient and how far the results are apart", () => {
  const apart = /** @type {any} */ ({
    o: { total: 64, differ: 3, bit_equal: false, max_abs: 1.23456e-7, max_ulp: 2, apart: 1 },
    lse: { total: 8, differ: 0, bit_equal: true, max_abs: 0, max_ulp: 0, apart: 0 },
  });
  const rows = rowsOf(report({ o: 0.2, lse: 0.1 }), report({ o: "NaN", lse: 0.4, dq: 1 }), apart);
  assert.deepEqual(rows[0], {
    ...{ name: "o", a: "0.20", b: "NaN", factor: "–", bad: "0, 0", maxAbs: "1.23e-7", ulp: "2" },
    differ: "3 of 64, 1 NaN or inf in one",
  });
  assert.deepEqual([rows[1].factor, rows[1].differ], ["0.25", "none: bit-equal"]);
  assert.deepEqual([rows[2].name, rows[2].a, rows[2].bad, rows[2].ulp], ["dq", "–", "–, 0", "–"]);
});

test("the ratio of times spans what the rounds' samples leave open", () => {
  const a = spanOf([timed(9, 10, 11), timed(10, 12, 14)]);
  const b = spanOf([timed(18, 20, 22), /** @type {any} */ ({ status: "error" })]);
  assert.deepEqual(a, { low: 9, median: 11, high: 14 });
  assert.equal(formatSpan(timeRatio(a, b)), "0.55 (0.409 to 0.778)");
  assert.equal(timeRatio(a, spanOf([])), null);
  assert.equal(formatSpan(null), "–");
});

test("two sides that are one kernel and text are said to be, whatever they are called", () => {
  const ran = (/** @type {object} */ fields = {}) => ({
    report: { ...report({ o: 0.2 }), shader_sha256: "2f", edited: [], ...fields },
    benches: [timed(9, 10, 11)],
  });
  const pair = (/** @type {any} */ a, /** @type {any} */ b, id = CASE) =>
    /** @type {any} */ ({
      case: id,
      sides: [a, b],
      outputs: {},
      apart: "",
      doing: "",
      problem: "",
    });
  assert.equal(
    sentenceOf(pair(ran(), ran())),
    `${CASE}: Both sides are the same kernel and text (k): times differ by the noise of timing ` +
      "alone. A takes 1 times as long as B.",
  );
  for (const other of [{ shader_sha256: "3f" }, { kernel: "j" }]) {
    assert.equal(sentenceOf(pair(ran(), ran(other))), `${CASE}: A takes 1 times as long as B.`);
  }
  const refused = ran({ shader_sha256: "" });
  assert.ok(!isSame(pair(refused, refused)), "nothing was compiled");
  assert.ok(!isSame(pair(ran(), { report: null, benches: [] })));
  const edited = ran({ edited: ["fa2_forward.wgsl"] });
  assert.ok(isSame(pair(edited, ran())), "an edit of a file that the kernel does not use");
  assert.ok(!isSame(pair(edited, ran(), "backward:T=8,D=4")), "of the forward before it, perhaps");
});

test("a side offers the kernels of the case's operation, and what is there of edits and runs", () => {
  const known = {
    kernels: [
      { name: "fa2_forward", op: "forward" },
      { name: "fa2_backward", op: "backward" },
      { name: "delta", op: "part" },
    ],
    ...{ op: "forward", edited: /** @type {string[]} */ ([]), own: "", asked: "" },
    kept: [
      {
        ...{ run: "0123456789abcdef", kind: "run", case: CASE, kernel: "fa2_forward", own: "" },
        ...{ status: "fail", finished: "2026-11-30T09:57:10Z" },
      },
    ],
  };
  const [shipped, here, runs] = groupsOf(known);
  assert.deepEqual(
    shipped.options.map(({ value }) => value),
    ["kernel:auto", "kernel:fa2", "kernel:baseline", "kernel:fa2_forward"],
  );
  assert.ok(here.options.every(({ disabled }) => disabled));
  assert.equal(runs.options[0].label, `01234567 · fa2_forward · fail · 2026-11-30 09:57 · ${CASE}`);
  const more = groupsOf({ ...known, edited: ["a.wgsl"], own: "mine", asked: "ff00ff00" });
  assert.deepEqual(
    more[1].options.map(({ label, disabled }) => [label, disabled]),
    [
      ["edited text: a.wgsl", false],
      ["own kernel: mine", false],
    ],
  );
  assert.equal(more[2].options[0].value, "run:ff00ff00");
  assert.equal(labelOf("run:ff00ff00", more), "run ff00ff00");
  assert.equal(labelOf("own", more), "own kernel: mine");
});

/** A server that judges and times at once, and lists what it was asked for. */
class Server {
  page = "this-page";
  /** @type {any[]} */
  asked = [];
  /** @type {Record<string, string>} the verdict by kernel */
  verdicts = {};
  /** @type {((path: string) => void) | null} */
  before = null;

  /** @param {string} run */
  async report(run) {
    return this.get(`/api/runs/${run}`);
  }

  /** @param {any} body */
  async requestRuns(body) {
    this.before?.(`POST /api/runs ${body.kernel}`);
    this.asked.push(["run", body.kernel]);
    return { runs: [`r-${body.kernel}`], cases: [`${CASE},kernel=${body.kernel}`] };
  }

  /** @param {string} path @param {any} [body] */
  async post(path, body) {
    this.asked.push([path.endsWith("/cancel") ? path : "bench", body?.kernel]);
    return { bench: `b-${body?.kernel}` };
  }

  /** @param {string} path */
  async get(path) {
    this.before?.(path);
    if (path.startsWith("/api/compare")) return { outputs: { o: { bit_equal: true } } };
    if (path.startsWith("/api/benches")) return timed(1, 2, 3);
    const kernel = path.split("r-")[1].split("?")[0];
    return report({ o: 0.1 }, this.verdicts[kernel] ?? "pass");
  }
}

function compared(server = new Server()) {
  const session = new CompareSession(/** @type {any} */ (server), () => {});
  const side = (/** @type {string} */ kernel) => ({
    label: kernel,
    load: async () => ({ notes: [], body: { kernel } }),
  });
  const start = (timed = true) => session.start({ case: CASE }, [side("x"), side("y")], timed);
  return { server, session, start };
}

test("both are judged, then timed in turn and in the other order", async () => {
  const { server, session, start } = compared();
  await start();
  assert.deepEqual(
    server.asked.map(([what, kernel]) => `${what} ${kernel}`),
    ["run x", "run y", "bench x", "bench y", "bench y", "bench x"],
  );
  assert.deepEqual([session.busy, session.shown?.problem], [false, ""]);
  assert.equal(session.shown?.case, CASE);
  assert.equal(session.shown?.sides[0].benches.length, 2);
});

test("what failed is not timed, and nothing is if nobody asked", async () => {
  const { server, start } = compared();
  server.verdicts = { x: "fail" };
  await start();
  assert.deepEqual(
    server.asked.slice(2).map(([, kernel]) => kernel),
    ["y", "y"],
  );
  server.asked = [];
  await start(false);
  assert.equal(server.asked.length, 2);
});

test("a stop cancels what is under way and nothing follows it", async () => {
  const { server, session, start } = compared();
  server.before = (path) => {
    if (path.startsWith("/api/runs/r-x")) session.stop();
  };
  await start();
  assert.deepEqual(session.shown?.problem, "stopped");
  assert.deepEqual(
    server.asked.map(([what]) => what),
    ["run", "/api/runs/r-x/cancel"],
  );
});

test("a stop while a run is asked for cancels that run", async () => {
  const { server, session, start } = compared();
  server.before = (path) => {
    if (path === "POST /api/runs y") session.stop();
  };
  await start();
  assert.deepEqual(
    [session.shown?.problem, session.busy, server.asked.map(([what]) => what)],
    ["stopped", false, ["run", "run", "/api/runs/r-y/cancel"]],
  );
});

test("a double press compares once, also while a side is still being loaded", async () => {
  const server = new Server();
  const session = new CompareSession(/** @type {any} */ (server), () => {});
  const { opened, open } = gate();
  const side = (/** @type {string} */ kernel) => ({
    label: `run ${kernel}`,
    load: async () => {
      await opened;
      return { label: kernel, notes: ["from a run"], body: { kernel } };
    },
  });
  const start = () => session.start({ case: CASE }, [side("x"), side("y")], false);
  const both = [start(), start()];
  assert.deepEqual([session.busy, session.shown?.sides[0].label], [true, "run x"]);
  open();
  await Promise.all(both);
  assert.deepEqual(
    server.asked.map(([what, kernel]) => `${what} ${kernel}`),
    ["run x", "run y"],
  );
  assert.deepEqual(
    session.shown?.sides.map(({ label, notes }) => [label, ...notes]),
    [
      ["x", "from a run"],
      ["y", "from a run"],
    ],
  );
});

test("a stop while a side is loaded asks for nothing, and a side that is not there is told", async () => {
  const { server, session, start } = compared();
  const started = start();
  await session.stop();
  await started;
  assert.deepEqual([server.asked, session.shown?.problem], [[], "stopped"]);
  const gone = async () => Promise.reject(new Error("no such run"));
  const side = { label: "x", load: gone };
  await session.start({ case: CASE }, [side, side], true);
  assert.match(session.shown?.problem ?? "", /no such run/);
  assert.equal(session.busy, false);
});
