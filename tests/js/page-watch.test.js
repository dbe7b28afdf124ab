// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { asRunError, RunError } from "../../static/js/run-error.js";
import { Watch } from "../../static/js/watch.js";

const never = () => new Promise(() => {});
const lives = () => new AbortController().signal;

test("a promise that settles in time gives its value", async () => {
  const watch = new Watch(1000, lives());
  assert.equal(await watch.race("adding", Promise.resolve(3)), 3);
  watch.close();
});

test("a wait that never ends is ended by the deadline, which says what was waited for", async () => {
  const watch = new Watch(20, lives());
  await assert.rejects(
    watch.race("mapping the buffer", never()),
    (/** @type {RunError} */ error) => {
      assert.equal(error.kind, "timeout");
      assert.match(error.message, /^0\.02 s passed while mapping the buffer/);
      return true;
    },
  );
});

test("a lost device ends the wait, with the reason that the browser gave", async () => {
  const watch = new Watch(1000, lives());
  const lost = /** @type {any} */ ({ reason: "unknown", message: "the GPU process died" });
  watch.device(Promise.resolve(lost));
  await assert.rejects(watch.race("running", never()), {
    kind: "device-lost",
    message: "the GPU device was lost (unknown: the GPU process died)",
  });
  watch.close();
});

test("a stop ends the wait, and the first cause is the one that counts", async () => {
  const abort = new AbortController();
  const watch = new Watch(10, abort.signal);
  abort.abort();
  await assert.rejects(watch.race("running", never()), { kind: "stopped" });
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(watch.cause?.kind, "stopped");
  assert.throws(() => watch.check(), { kind: "stopped" });
});

test("a stop before the start is a stop", async () => {
  const watch = new Watch(1000, AbortSignal.abort());
  await assert.rejects(watch.race("running", Promise.resolve(1)), { kind: "stopped" });
  watch.close();
});

test("a promise that fails after its race was lost disturbs nobody", async () => {
  const watch = new Watch(5, lives());
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 20));
  await assert.rejects(watch.race("running", late), { kind: "timeout" });
  await new Promise((resolve) => setTimeout(resolve, 40)); // an unhandled rejection fails the test
});

test("a deadline that was met leaves no timer behind", async () => {
  const watch = new Watch(30, lives());
  await watch.race("adding", Promise.resolve(1));
  watch.close();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(watch.cause, null);
});

test("the library's errors keep their kind and place, others become the page's own", () => {
  const compile = Object.assign(new Error("x.wgsl:3:7: unexpected"), {
    kind: "compile",
    file: "x.wgsl",
    line: 3,
    column: 7,
  });
  assert.deepEqual(asRunError(compile).where, { file: "x.wgsl", line: 3, column: 7 });
  assert.equal(asRunError(compile).kind, "compile");
  assert.deepEqual(
    [new TypeError("no"), "text", Object.assign(new Error("B=0"), { kind: "case" })].map(
      (thrown) => [asRunError(thrown).kind, asRunError(thrown).message],
    ),
    [
      ["page", "TypeError: no"],
      ["page", "text"],
      ["page", "B=0"],
    ],
  );
});

test("a message is cut to what the server takes", () => {
  assert.equal(new RunError("page", "x".repeat(50_000)).message.length, 19_000);
});
