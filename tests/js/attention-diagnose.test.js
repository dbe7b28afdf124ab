import assert from "node:assert/strict";
import { test } from "node:test";
import { diagnose } from "../../static/js/attention/index.js";
import { fakeDevice } from "./attention-device.js";
import { SHADERS as shaders } from "./attention-files.js";

const SPEC = { Tq: 16, D: 8 };
const TEXT = shaders["fa2_forward.wgsl"];
const lines = TEXT.split("\n").length;
const said = (change = {}) => ({ type: "error", message: "no", lineNum: 3, linePos: 5, ...change });

test("a message stands at its line of the file that one edits, with its length", async () => {
  const device = fakeDevice({ messages: [said({ length: 4 }), said({ type: "warning" })] });
  const { messages } = await diagnose(device, SPEC, { kernel: "fa2_forward", shaders });
  const [error, warning] = messages;
  assert.deepEqual(error, {
    ...{ type: "error", text: "no", file: "fa2_forward.wgsl", line: 3, column: 5, length: 4 },
  });
  assert.equal(warning.type, "warning");
  assert.equal(device.log.scopes, 0, "every scope is closed");
});

test("a message behind the kernel's own lines stands in the file that it uses", async () => {
  const device = fakeDevice({ messages: [said({ lineNum: lines + 2 })] });
  const { messages, files } = await diagnose(device, SPEC, { kernel: "fa2_forward", shaders });
  assert.equal(messages[0].file, files[1]);
  assert.equal(messages[0].line, 2);
});

test("what two passes say of a file that they share is said once", async () => {
  const device = fakeDevice({ messages: [said()] });
  const spec = { ...SPEC, op: "backward" };
  const { messages, plan } = await diagnose(device, spec, { kernel: "fa2", shaders });
  assert.ok(plan.passes.length > 1);
  const places = messages.map(({ file, line }) => `${file}:${line}`);
  assert.equal(new Set(places).size, places.length);
});

test("a text that cannot be composed is a message too, and nothing is compiled", async () => {
  const device = fakeDevice();
  const text = `// @use common/nothing.wgsl\n${TEXT}`;
  const { messages, files } = await diagnose(device, SPEC, {
    kernel: "fa2_forward",
    shaders: { ...shaders, "fa2_forward.wgsl": text, "common/nothing.wgsl": "// @use Params" },
  });
  assert.equal(device.log.modules.length, 0);
  assert.deepEqual(files.slice(0, 2), ["fa2_forward.wgsl", "common/nothing.wgsl"]);
  assert.equal(messages.length, 1);
  assert.deepEqual([messages[0].file, messages[0].line], ["common/nothing.wgsl", 1]);
  assert.match(messages[0].text, /no such file/);
});

test("the adapter's limits choose the tile, and a request without a plan is refused", async () => {
  const device = fakeDevice();
  const limits = { ...device.limits, maxComputeWorkgroupStorageSize: 49152 };
  const spec = { Tq: 512, D: 128 };
  const options = { kernel: "fa2_forward_wide", shaders };
  const small = await diagnose(device, spec, options);
  const large = await diagnose(device, spec, { ...options, adapter: { limits } });
  assert.notDeepEqual(large.plan.passes[0].tile, small.plan.passes[0].tile);
  await assert.rejects(diagnose(device, { ...spec, D: 1024 }, options), { kind: "unsupported" });
});
