// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { asRun, readOptions, sameChoice, writeOptions } from "../../static/js/url-options.js";

const none = {
  case: "",
  suite: "",
  kernel: "",
  seed: "",
  kappa: "",
  run: false,
  without: "",
  page: "",
};

test("an empty query asks for nothing", () => {
  assert.deepEqual(readOptions(""), none);
  assert.equal(writeOptions(none), "");
});

test("a case id is read whole, with its colons, commas and equal signs", () => {
  const id = "forward:Tq=5,Tk=9,H=2,D=8,window=3:0,scale=1e+2";
  assert.equal(readOptions(`?case=${id.replace("+", "%2B")}&run=1`).case, id);
});

test("what is written can be read by people and by the page", () => {
  const options = { ...none, case: "forward:T=4,D=8,scale=1e+2", run: true, page: "a-b_c" };
  const query = writeOptions(options);
  assert.equal(query, "?case=forward:T=4,D=8,scale=1e%2B2&run=1&page=a-b_c");
  assert.deepEqual(readOptions(query), options);
});

test("a suite keeps kernel, seed and kappa beside it", () => {
  const options = { ...none, suite: "seed", kernel: "fa2", seed: "0x2a", kappa: "8" };
  assert.equal(writeOptions(options), "?suite=seed&kernel=fa2&seed=0x2a&kappa=8");
  assert.deepEqual(readOptions(writeOptions(options)), options);
});

test("features to do without are kept, commas and all", () => {
  const options = { ...none, suite: "seed", without: "shader-f16,subgroups" };
  assert.equal(writeOptions(options), "?suite=seed&without=shader-f16,subgroups");
  assert.deepEqual(readOptions(writeOptions(options)), options);
});

test("a case wins over a suite, in reading and in writing", () => {
  assert.deepEqual(readOptions("?suite=seed&case=x"), { ...none, case: "x" });
  assert.equal(writeOptions({ ...none, suite: "seed", case: "x" }), "?case=x");
});

test("run=0 and run= do not start anything", () => {
  assert.deepEqual(
    ["?run=0", "?run=", "?run=1", "?run=true"].map((query) => readOptions(query).run),
    [false, false, true, true],
  );
});

test("no character of an option can end it early or add another", () => {
  const options = { ...none, case: "a&run=1#b ?%c=é" };
  assert.deepEqual(readOptions(writeOptions(options)), options);
});

test("what ran stands in the form only if the form still says what was asked", () => {
  const asked = { case: "forward:T=4,D=8", suite: "", kernel: "fa2", seed: "7" };
  const id = "forward:T=4,D=8,kernel=fa2,seed=7";
  assert.deepEqual(asRun(asked, [id]), { case: id, suite: "", kernel: "", seed: "" });
  const suite = { case: "", suite: "seed", kernel: "fa2", seed: "7" };
  assert.deepEqual(asRun(suite, [id, id]), suite);
  assert.ok(sameChoice({ ...asked }, asked));
  for (const key of /** @type {const} */ (["case", "suite", "kernel", "seed"])) {
    assert.ok(!sameChoice({ ...asked, [key]: "typed meanwhile" }, asked), key);
  }
});
