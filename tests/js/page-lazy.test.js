// Parts of the page that are loaded when they are first needed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { lazy, loaded } from "../../static/js/lazy.js";

test("it is made when first asked for, once, also by two who ask at the same time", async () => {
  let made = 0;
  const part = lazy(async () => ({ number: ++made }));
  assert.equal(made, 0);
  const [one, other] = await Promise.all([part(), part()]);
  assert.equal(one, other);
  assert.equal((await part()).number, 1);
});

test("what failed is tried again", async () => {
  let tries = 0;
  const part = lazy(async () => {
    if (++tries === 1) throw new Error("away");
    return tries;
  });
  await assert.rejects(part(), /away/);
  assert.equal(await part(), 2);
});

test("what is asked for all the time is tried again after a pause, once for all who ask meanwhile", async () => {
  const pause = 60;
  let tries = 0;
  const part = lazy(async () => {
    if (++tries === 1) throw new Error("away");
    return tries;
  }, pause);
  const asked = performance.now();
  await assert.rejects(part(), /away/);
  const later = Promise.all([part(), part()]);
  assert.equal(tries, 1);
  assert.deepEqual(await later, [2, 2]);
  assert.ok(performance.now() - asked > 0.9 * pause);
});

test("a module that does not come says what is missing, why, and what to do", async () => {
  const module = loaded("the editor", import("./there-is-no-such-module.js"));
  await assert.rejects(
    module,
    /^RunError: the editor could not be loaded \(.*no-such-module.*\); try /,
  );
  assert.equal((await loaded("this", Promise.resolve({ part: 1 }))).part, 1);
});

test("a module that neither comes nor fails is given up, and can be asked for again", async () => {
  let tries = 0;
  const part = lazy(() =>
    loaded("the editor", ++tries === 1 ? new Promise(() => {}) : Promise.resolve(tries), 20),
  );
  await assert.rejects(part(), /the editor could not be loaded \(it has not come for 0\.02 s\)/);
  assert.equal(await part(), 2);
});
