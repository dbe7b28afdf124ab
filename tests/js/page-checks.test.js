// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNames, checksOf, lineOf, summarise } from "../../static/js/checks.js";

/** @typedef {import("../../static/js/checks.js").Entry} Entry */

/**
 * @param {string} id
 * @param {string} status "planned", "queued", "running", or what the judge says
 * @param {Record<string, [number | string, number]>} [outputs] worst ratio and bad elements
 * @returns {Entry}
 */
function entry(id, status, outputs = {}) {
  if (["planned", "queued", "running"].includes(status)) {
    return /** @type {Entry} */ ({ case: id, run: "", state: status, report: null, problem: "" });
  }
  const judged = Object.entries(outputs).map(([name, [worst_ratio, bad]]) => [
    name,
    { worst_ratio, bad, total: 100, nan: 0, inf: 0, worst: null },
  ]);
  const report = { case: id, status, message: "", outputs: Object.fromEntries(judged) };
  return /** @type {any} */ ({ case: id, run: "r", state: "done", report, problem: "" });
}

const good = { o: /** @type {[number, number]} */ ([0.2, 0]), lse: [0.4, 0] };
const passed = entry("forward:T=4,D=8", "pass", /** @type {any} */ (good));

test("the checks of a case are known from its id, wherever its keys stand", () => {
  const names = (/** @type {string} */ id) => checkNames(id).map(({ name }) => name);
  assert.deepEqual(names("forward:T=4,D=8"), ["o"]);
  assert.deepEqual(names("forward:Tq=4,Tk=8,D=8,window=3:0,attn=1,seed=5"), ["o", "attn"]);
  assert.deepEqual(names("backward:T=4,D=8"), ["o", "dq", "dk", "dv"]);
  assert.deepEqual(names("backward:T=4,D=8,bias=tt"), ["o", "dq", "dk", "dv", "dbias"]);
  assert.deepEqual(names("backward:T=4,D=8,bias=none"), ["o", "dq", "dk", "dv"]);
});

test("the line of o covers the log-sum-exp, names both and shows the worse of the two", () => {
  const [check] = checksOf(passed);
  assert.equal(lineOf(check, passed), "ok o, lse forward:T=4,D=8 worst |error|/allowed 0.40");
  const alone = entry("forward:T=4,D=8", "pass", { o: [0.2, 0] }); // as a kernel of one's own may
  const line = lineOf(checksOf(alone)[0], alone);
  assert.equal(line, "ok o forward:T=4,D=8 worst |error|/allowed 0.20");
});

test("a failure marks the outputs that have bad elements, and spares the others", () => {
  const outputs = { o: [0.2, 0], lse: [0.1, 0], attn: [7, 3] };
  const failed = entry("forward:T=4,D=8,attn=1", "fail", /** @type {any} */ (outputs));
  assert.deepEqual(
    checksOf(failed).map(({ status }) => status),
    ["pass", "fail"],
  );
});

test("a failure that lies in no element concerns every check of the case", () => {
  for (const outputs of [{}, { o: [0.2, 0], lse: [0.1, 0], attn: [0.1, 0] }]) {
    const failed = entry("forward:T=4,D=8,attn=1", "fail", /** @type {any} */ (outputs));
    assert.deepEqual(
      checksOf(failed).map(({ status }) => status),
      ["fail", "fail"],
    );
  }
});

test("a case that is over without a report is an error, not a pass", () => {
  const lost = /** @type {Entry} */ ({ ...entry("forward:T=4,D=8", "running"), state: "done" });
  assert.deepEqual(checksOf(lost)[0].status, "error");
  assert.equal(summarise([passed, lost]).headline, "1 FAILED");
});

test("ALL PASS needs a pass and nothing wrong", () => {
  assert.equal(summarise([passed]).headline, "ALL PASS");
  assert.equal(summarise([passed, entry("forward:T=4,D=9", "skip")]).headline, "ALL PASS");
});

test("a list in which nothing ran never passes", () => {
  const skipped = entry("forward:T=4,D=9", "skip");
  assert.deepEqual(
    [[], [entry("forward:T=4,D=8", "planned")], [skipped], [skipped, skipped]].map(
      (entries) => summarise(entries).verdict,
    ),
    ["planned", "planned", "nothing", "nothing"],
  );
});

test("a list that was stopped is not a pass", () => {
  const { verdict, headline, detail } = summarise([passed, entry("forward:T=5,D=8", "planned")]);
  assert.deepEqual([verdict, headline], ["stopped", "STOPPED"]);
  assert.match(detail, /1 not run/);
});

test("failed, vacuous, error and skipped are counted apart, and all but skipped count as wrong", () => {
  const all = ["fail", "vacuous", "error", "skip"].map((status) =>
    entry("forward:T=4,D=8,attn=1", status),
  );
  const { headline, detail } = summarise([passed, ...all]);
  assert.equal(headline, "6 FAILED");
  assert.match(detail, /^9 checks in 5 cases · 1 ok · 2 failed · 2 vacuous · 2 errors · 2 skipped/);
});

test("while anything is under way, the headline is how far it is, whatever failed so far", () => {
  const failed = entry("forward:T=4,D=8", "fail");
  const { verdict, headline, done, cases } = summarise([
    failed,
    passed,
    entry("forward:T=6,D=8", "queued"),
  ]);
  assert.deepEqual([verdict, headline, done, cases], ["running", "RUNNING 2 / 3", 2, 3]);
});

test("the worst ratio of a list is told, no number being the worst", () => {
  assert.match(summarise([passed]).detail, /worst \|error\|\/allowed 0.40$/);
  const nan = entry("forward:T=4,D=8", "fail", { o: ["nan", 1] });
  assert.match(summarise([passed, nan]).detail, /allowed NaN$/);
});
