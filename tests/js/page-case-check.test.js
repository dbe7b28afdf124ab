import assert from "node:assert/strict";
import { test } from "node:test";
import { CaseCheck, keyOf } from "../../static/js/case-check.js";

const JOB = { case: "forward:T=16,D=8", spec: { Tq: 16, D: 8, op: "forward" }, kernel: "auto" };
const ERROR = { type: "error", text: "no", file: "k.wgsl", line: 1, column: 1, length: 0 };
const checked = (messages = []) => ({ files: ["k.wgsl", "a.wgsl"], main: "k.wgsl", messages });

/** A case check whose server and compiler answer what they are told to. */
function made({ get = async () => JOB, check = async () => checked() } = {}) {
  const asked = [];
  let edited = {};
  const one = new CaseCheck(
    {
      transport: { get: (path) => asked.push(path) && get(path) },
      ...{ devices: {}, tables: {} },
      runner: () => Promise.reject(new Error("not loaded")),
    },
    { edited: () => edited, onChange: async () => {} },
  );
  one.shaders.check = check;
  const edit = (texts) => {
    edited = texts;
  };
  return { one, asked, edit };
}

test("a case is asked for as it is written, with the kernel and the seed that go with it", async () => {
  assert.equal(keyOf("", { seed: "1" }), "");
  const { one, asked } = made();
  one.look(keyOf("forward:T=16,D=8", { kernel: "fa2", seed: "0x2a" }));
  assert.equal(await one.again(), true);
  assert.deepEqual(asked, ["/api/cases/forward%3AT%3D16%2CD%3D8?kernel=fa2&seed=0x2a"]);
  assert.equal(one.summary([], false), "k.wgsl and the 1 file with it compile on this device.");
});

test("a case that does not compile is known as such by both of its names, and no other is", async () => {
  const { one } = made({ check: async () => checked([ERROR]) });
  one.look(keyOf("forward:D=8,T=16", {}));
  assert.equal(await one.again(), false);
  assert.ok(one.isBroken(keyOf("forward:D=8,T=16", {})));
  assert.ok(one.isBroken(keyOf("forward:T=16,D=8", {})));
  one.look(keyOf("forward:T=32,D=8", {}));
  assert.ok(!one.isBroken(keyOf("forward:T=32,D=8", {})), "it has not been checked yet");
  assert.match(one.summary([ERROR], true), /^1 error: .* those of the earlier text\.$/);
});

test("what is refused is said in the server's or the library's own words", async () => {
  const refusal = new Error("there is no key 'colour'");
  const first = made({ get: () => Promise.reject(Object.assign(refusal, { kind: "page" })) });
  first.one.look(keyOf("forward:colour=red", {}));
  assert.equal(await first.one.again(), true);
  assert.match(first.one.summary([], false), /no key 'colour'/);
  const unsupported = Object.assign(new Error("D=512 is too large"), { kind: "unsupported" });
  const second = made({ check: () => Promise.reject(unsupported) });
  second.one.look(keyOf("forward:T=16,D=512", {}));
  await second.one.again();
  assert.equal(second.one.summary([], false), "D=512 is too large");
});

test("an answer that is late for the text of now is dropped", async () => {
  const answers = [];
  const { one, edit } = made({
    check: (_, edited) => new Promise((then) => answers.push({ edited, then })),
  });
  one.look(keyOf("forward:T=16,D=8", {}));
  const first = one.again();
  while (!answers.length) await null;
  edit({ "k.wgsl": "better" });
  const second = one.again();
  while (answers.length < 2) await null;
  assert.deepEqual(answers[1].edited, { "k.wgsl": "better" });
  answers[1].then(checked());
  assert.equal(await second, true);
  answers[0].then(checked([ERROR]));
  assert.equal(await first, false, "it tells of its own text");
  assert.deepEqual(one.checked?.messages, [], "and leaves what is known of the later one");
});

test("a saved file is forgotten also where nothing has been able to run yet", async () => {
  const { one } = made();
  /** @type {(string | undefined)[]} */
  const forgotten = [];
  one.shaders.forget = (path) => void forgotten.push(path);
  await one.forget("a.wgsl");
  let reloads = 0;
  one.runner = async () => /** @type {any} */ ({ reload: () => reloads++ });
  await one.forget();
  assert.deepEqual([forgotten, reloads], [["a.wgsl", undefined], 1]);
});
