// The screen of a device that works stays on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Awake } from "../../static/js/awake.js";

function screen({ refuses = false } = {}) {
  const said = /** @type {string[]} */ ([]);
  const wakeLock = {
    async request() {
      if (refuses) throw new Error("battery saver");
      said.push("on");
      const lock = {
        released: false,
        async release() {
          lock.released = true;
          said.push("off");
        },
      };
      return lock;
    },
  };
  return { said, awake: new Awake(/** @type {any} */ (wakeLock)) };
}

test("a lock is held while it is wanted, and none is left over", async () => {
  const { said, awake } = screen();
  await Promise.all([awake.keep(true), awake.keep(true)]);
  assert.deepEqual(said, ["on", "on", "off"], "a second one is given back at once");
  await awake.keep(true);
  await awake.keep(false);
  await awake.keep(false);
  assert.deepEqual(said, ["on", "on", "off", "off"]);
});

test("a run that is over before the answer leaves no lock behind", async () => {
  const { said, awake } = screen();
  const asking = awake.keep(true);
  await awake.keep(false);
  await asking;
  assert.deepEqual(said, ["on", "off"]);
});

test("a browser without such a lock, or one that refuses it, works all the same", async () => {
  await new Awake(undefined).keep(true);
  const { said, awake } = screen({ refuses: true });
  await awake.keep(true);
  await awake.keep(false);
  assert.deepEqual(said, []);
});
