import assert from "node:assert/strict";
import { test } from "node:test";
import { KernelResults } from "../../static/js/kernel-results.js";

const report = (status, shader_sha256, id = "a") => ({ case: id, status, shader_sha256 });

test("the report of another text stands beside the one before it", () => {
  const results = new KernelResults();
  results.judged(report("pass", "1"));
  assert.equal(results.change("a"), null);
  results.judged(report("fail", "2"));
  const { before, now } = results.change("a");
  assert.deepEqual([before.shader_sha256, now.shader_sha256], ["1", "2"]);
});

test("the same text again is compared with what it was compared with before", () => {
  const results = new KernelResults();
  for (const sha of ["1", "2", "2"]) results.judged(report("pass", sha));
  assert.equal(results.change("a").before.shader_sha256, "1");
});

test("a run that computed nothing leaves what was known, and other cases are others", () => {
  const results = new KernelResults();
  results.judged(report("pass", "1"));
  results.judged(report("error", ""));
  results.judged(report("pass", "7", "b"));
  results.judged(report("pass", "2"));
  assert.equal(results.change("a").before.shader_sha256, "1");
  assert.equal(results.change("b"), null);
  assert.ok(!results.has("c"));
});

test("no more cases are kept than fit, the most recent ones", () => {
  const results = new KernelResults();
  for (let n = 0; n < 300; n++) results.judged(report("pass", "1", `case ${n}`));
  assert.ok(!results.has("case 0"));
  assert.ok(results.has("case 299"));
});

test("results are stale when a file of the case was edited, reverted or saved since", () => {
  const results = new KernelResults();
  const files = ["k", "used"];
  assert.ok(!results.stale(files, { edited: { k: "x" }, saves: {} }), "nothing is on show");
  results.started({ edited: { used: "mine" }, saves: { k: 1 } });
  const now = (edited, saves) => results.stale(files, { edited, saves });
  assert.ok(!now({ used: "mine" }, { k: 1 }));
  assert.ok(now({ used: "other" }, { k: 1 }));
  assert.ok(now({}, { k: 1 }));
  assert.ok(now({ used: "mine" }, { k: 2 }));
  assert.ok(!now({ used: "mine" }, { k: 1, used: 5 }), "it runs as edited, whatever is saved");
  assert.ok(!now({ used: "mine", alien: "x" }, { k: 1, alien: 1 }), "no file of the case");
  results.started(null);
  assert.ok(!now({ used: "other" }, {}), "what is on show is of other texts than the files");
});
