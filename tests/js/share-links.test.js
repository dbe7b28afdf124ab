import assert from "node:assert/strict";
import { test } from "node:test";
import { quoted, shareLinks } from "../../static/js/share-links.js";

const ORIGIN = "http://127.0.0.1:8000";
const plain = {
  case: "forward:T=48,H=2,D=16,kernel=fa2_forward",
  kappa: 4,
  without: [],
  edited: [],
  own: "",
};
const texts = (/** @type {import("../../static/js/share-links.js").Shared} */ shared) =>
  shareLinks(shared, ORIGIN).lines.map(({ text }) => text);

test("a run is a URL, a command and a test", () => {
  assert.deepEqual(texts(plain), [
    `${ORIGIN}/webgpu-test?case=forward:T=48,H=2,D=16,kernel=fa2_forward&run=1`,
    "fa2 run 'forward:T=48,H=2,D=16,kernel=fa2_forward'",
    "pytest --pyargs server.pytest_cases --fa2-case 'forward:T=48,H=2,D=16,kernel=fa2_forward'",
  ]);
  assert.equal(shareLinks(plain, ORIGIN).caveat, "");
});

test("a factor of the bounds and features withheld are told too", () => {
  const [url, command, pytest] = texts({
    ...plain,
    case: "forward:T=8,D=4",
    kappa: 2.5,
    without: ["shader-f16", "subgroups"],
  });
  assert.equal(
    url,
    `${ORIGIN}/webgpu-test?case=forward:T=8,D=4&kappa=2.5&run=1&without=shader-f16,subgroups`,
  );
  assert.equal(
    command,
    "fa2 run 'forward:T=8,D=4' --kappa 2.5 --without shader-f16 --without subgroups",
  );
  assert.match(pytest, / --fa2-kappa 2\.5 --fa2-without shader-f16 --fa2-without subgroups$/);
});

test("a feature that is no word becomes one", () => {
  const [, command] = texts({ ...plain, case: "forward:T=8,D=4", without: ["x; rm -rf ~"] });
  assert.equal(command, "fa2 run 'forward:T=8,D=4' --without 'x; rm -rf ~'");
});

test("what the lines do not hold is said", () => {
  const edited = shareLinks({ ...plain, edited: ["fa2_forward.wgsl"] }, ORIGIN).caveat;
  assert.match(edited, /do not hold the edited text of fa2_forward\.wgsl; the repro zip does/);
  const own = shareLinks({ ...plain, own: "mine" }, ORIGIN).caveat;
  assert.match(own, /do not hold the kernel mine; the repro zip does/);
});

test("a word for the shell stays one word", () => {
  assert.equal(quoted("a'; rm -rf b"), "'a'\\''; rm -rf b'");
});
