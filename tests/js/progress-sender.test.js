// @ts-check
// How far a job is, told to a server that takes its time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProgressSender } from "../../static/js/progress-sender.js";
import { settled } from "./session-server.js";

/** A server whose answers come when a test says so. @param {number} [pauseMs] */
function slow(pauseMs) {
  /** @type {string[]} */
  const told = [];
  /** @type {(() => void)[]} */
  const answers = [];
  const post = (/** @type {string} */ progress) => {
    told.push(progress);
    return new Promise((resolve, reject) => {
      answers.push(() => (progress === "refused" ? reject(new Error("409")) : resolve(null)));
    });
  };
  const answer = () => answers.shift()?.();
  return { told, answer, sender: new ProgressSender(post, pauseMs) };
}

test("one request at a time, and then the latest of what came meanwhile", async () => {
  const { told, answer, sender } = slow();
  for (const progress of ["refused", "b", "c"]) sender.tell(progress);
  assert.deepEqual(told, ["refused"]);
  answer();
  await settled();
  assert.deepEqual(told, ["refused", "c"], "a failure is no news");
  answer();
  await settled();
  sender.tell("d");
  assert.deepEqual(told, ["refused", "c", "d"]);
});

test("the end comes once the request under way is answered, and nothing is told behind it", async () => {
  const { told, answer, sender } = slow();
  let ended = false;
  sender.tell("a");
  sender.tell("b");
  const end = sender.end().then(() => {
    ended = true;
  });
  await settled();
  assert.equal(ended, false);
  answer();
  await end;
  sender.tell("c");
  assert.deepEqual(told, ["a"]);
});

test("an end does not wait for ever, nor for what has not been sent yet", async (t) => {
  const waiting = slow(60_000);
  waiting.sender.tell("a");
  await waiting.sender.end();
  assert.deepEqual(waiting.told, []);

  t.mock.timers.enable({ apis: ["setTimeout"] });
  const hung = slow();
  hung.sender.tell("a");
  const end = hung.sender.end();
  t.mock.timers.tick(1000);
  await end;
});
