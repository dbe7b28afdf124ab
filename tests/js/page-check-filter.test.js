// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { countGroups, inGroup, isWrong, matcher } from "../../static/js/check-filter.js";

/** @typedef {import("../../static/js/checks.js").Entry} Entry */

/**
 * @param {string} id
 * @param {string} status
 * @returns {Entry}
 */
function entry(id, status) {
  const report = { case: id, status, message: "", outputs: {} };
  return /** @type {any} */ ({ case: id, run: "r", state: "done", report, problem: "" });
}

const ID = "backward:Tq=37,Tk=64,H=4,D=16,window=3:0";

test("no word lets every line through", () => {
  assert.ok(matcher("")(ID, "o"));
  assert.ok(matcher("  ")(ID, "dq"));
});

test("every word has to fit, somewhere in the case, whatever its capitals", () => {
  assert.ok(matcher("tk=64 WINDOW")(ID, "o"));
  assert.ok(!matcher("tk=64 softcap")(ID, "o"));
});

test("an output's name means that output, though many cases hold its letters", () => {
  assert.ok(matcher("dq")(ID, "dq"));
  assert.ok(!matcher("o")(ID, "dq"), "forward and window hold an o");
  assert.ok(!matcher("attn")("forward:T=8,D=8,attn=1", "o"));
  assert.ok(matcher("attn=1")("forward:T=8,D=8,attn=1", "o"));
});

test("a pattern is for the whole case, as on the command line, and its dots are dots", () => {
  assert.ok(matcher("backward:*d=16*")(ID, "dk"));
  assert.ok(!matcher("*d=1")(ID, "dk"));
  assert.ok(matcher("*D=1?,*")(ID, "dk"));
  assert.ok(matcher("*scale=0.5")("forward:T=8,D=8,scale=0.5", "o"));
  assert.ok(!matcher("*scale=0.5")("forward:T=8,D=8,scale=0x5", "o"));
  assert.ok(!matcher("(*")(ID, "o"), "no word is a broken pattern");
});

test("stars that follow each other are one: no pattern keeps the page busy", () => {
  const began = performance.now();
  assert.ok(!matcher(`${"*".repeat(40)}!`)(ID, "o"));
  assert.ok(performance.now() - began < 1000);
});

test("failed are also those that erred or proved nothing; what waits is in none but all", () => {
  for (const status of /** @type {const} */ (["fail", "error", "vacuous"])) {
    assert.ok(inGroup("failed", status));
    assert.ok(isWrong(entry("forward:T=8,D=8", status)));
  }
  assert.ok(!inGroup("passed", "running"));
  assert.ok(inGroup("all", "queued"));
});

test("counts are of lines, and only of those whose words fit", () => {
  const entries = [
    entry("forward:T=8,D=8", "pass"),
    entry("backward:T=8,D=8", "fail"),
    entry("forward:T=8,D=9", "skip"),
  ];
  const all = countGroups(entries, matcher(""));
  assert.deepEqual(all, { all: 6, failed: 4, passed: 1, skipped: 1 });
  const some = countGroups(entries, matcher("d=8 o"));
  assert.deepEqual(some, { all: 2, failed: 1, passed: 1, skipped: 0 });
});
