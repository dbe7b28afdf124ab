// Requests with slips in them: words and types that there are not, places that meet.
import assert from "node:assert/strict";
import test from "node:test";
import {
  createAttention,
  diagnose,
  requiredLimits,
  SpecError,
} from "../../static/js/attention/index.js";
import { completeSpec } from "../../static/js/attention/spec.js";
import { fakeDevice } from "./attention-device.js";
import { SHADERS } from "./attention-files.js";

const SPEC = { B: 2, H: 2, Tq: 8, D: 8 };

/** @param {() => unknown} act @param {RegExp} text */
const refuses = (act, text) =>
  assert.throws(act, (error) => {
    assert.ok(error instanceof SpecError, `${error}`);
    assert.match(error.message, text);
    return true;
  });
/** @param {any} changes @param {RegExp} text */
const refused = (changes, text) => refuses(() => completeSpec({ ...SPEC, ...changes }), text);

test("a word that a spec does not have is refused with those that it has", () => {
  refused({ casual: false }, /^spec\.casual: there is no such key, it has op, B, H, Hkv, Tq/);
  refused({ heads: 2 }, /^spec\.heads: there is no such key/);
  refused({ seed: "0" }, /^spec\.seed: /);
  refused({ strides: { lse: {} } }, /^strides\.lse: there is no such key, it has q, k, v, o/);
  const steps = { batch: 128, row: 16, head: 8 };
  refused(
    { strides: { q: { ...steps, col: 1 } } },
    /^strides\.q\.col: .* offset, batch, row, head/,
  );
  for (const none of [null, undefined, 7, [SPEC]]) {
    refuses(() => completeSpec(/** @type {any} */ (none)), /^spec=.*: must be an object of op, B/);
  }
  completeSpec({ ...SPEC, causal: undefined, strides: { q: undefined } }); // as if left out
});

test("a value of another type is refused with the rule", () => {
  for (const causal of [0, 1, null, "false"]) {
    refused({ causal }, new RegExp(`^causal=${JSON.stringify(causal)}: must be true or false`));
  }
  refused({ attn: "no" }, /^attn="no": must be true or false/);
  refused({ window: null }, /^window=null: must be two whole numbers/);
  refused({ window: 3 }, /^window=3: must be two whole numbers/);
  refused({ window: [1] }, /^window=1: must be two whole numbers/);
  refused({ strides: null }, /^strides=null: must be an object of q, k/);
  refused({ strides: { q: null } }, /^strides\.q=null: must be an object of offset, batch/);
  refused({ softcap: "1" }, /^softcap="1": must be 0 \(off\) or a positive number/);
  refused({ softcap: Number.POSITIVE_INFINITY }, /^softcap=Infinity/);
  refused({ bias: null }, /^bias=null: must be one of none, tt/);
  refused({ op: "sideways" }, /^op=sideways: must be one of forward, backward/);
  refused({ align: null }, /^align=null: must be one of br, tl/);
  refused({ scale: "0.5" }, /^scale="0\.5": must be a number that is finite/);
  refused({ Tq: 2 ** 31 }, /^Tq=2147483648: must be a whole number, 1 to 2147483647/);
});

test("values that no message could hold are refused like any other", () => {
  const loop = /** @type {Record<string, unknown>} */ ({});
  loop.itself = loop;
  for (const odd of [Symbol("s"), 5n, () => 0, loop, Object.create(null)]) {
    for (const name of [
      "B",
      "Tq",
      "causal",
      "scale",
      "window",
      "softcap",
      "bias",
      "op",
      "strides",
    ]) {
      if (name === "strides" && typeof odd === "object") continue; // an object it is
      refused({ [name]: odd }, new RegExp(`^${name}=.*: must be `));
    }
    refused({ strides: { q: { batch: odd, row: 8, head: 8 } } }, /^strides\.q\.batch=.*: elements/);
    refused({ window: [0, odd] }, /^window=.*: must be two whole numbers/);
  }
  refused({ Tq: "8" }, /^Tq="8": must be a whole number/);
  refuses(() => completeSpec(/** @type {any} */ (5n)), /^spec=5n: must be an object/);
});

test("what is no device is refused by its name, with the way to one", async () => {
  const device = fakeDevice();
  class GPUAdapter {
    limits = device.limits;
    async requestDevice() {}
  }
  class GPU {
    async requestAdapter() {}
  }
  const got = (/** @type {unknown} */ given, /** @type {string} */ text) => {
    const create = () => createAttention(/** @type {any} */ (given), { shaders: SHADERS });
    refuses(create, new RegExp(`^createAttention takes a GPUDevice \\(got ${text}\\)$`));
  };
  got(undefined, "undefined");
  got(null, "null");
  got({}, "Object");
  got(new GPUAdapter(), "GPUAdapter: await adapter\\.requestDevice\\(\\)");
  got(new GPU(), "GPU: await \\(await gpu.*requestDevice\\(\\)");
  got(Promise.resolve(device), "Promise: await it");
  const adapter = /** @type {any} */ (new GPUAdapter());
  await assert.rejects(
    diagnose(adapter, SPEC),
    /^SpecError: diagnose takes a GPUDevice \(got GPUA/,
  );
  requiredLimits(SPEC, adapter);
  for (const none of [undefined, Promise.resolve(adapter), 5n]) {
    const ask = () => requiredLimits(SPEC, /** @type {any} */ (none));
    refuses(ask, /^requiredLimits takes a GPUAdapter .*\(got (undefined|Promise: await it|5n)\)$/);
  }
  const extra = /** @type {any} */ ({ extraBytes: 4n });
  refuses(() => requiredLimits(SPEC, device, extra), /^extraBytes=4n: must be a whole number/);
});

test("options that there are not are refused, wherever options are taken", async () => {
  const device = fakeDevice();
  const any = (/** @type {object} */ options) => /** @type {any} */ (options);
  const fa = createAttention(device, { shaders: SHADERS });
  refuses(() => fa.plan(SPEC, any({ kernal: "fa2" })), /^options\.kernal: .* it has kernel, trace/);
  await assert.rejects(fa.prepare(SPEC, any({ kernal: "fa2" })), /^SpecError: options\.kernal/);
  await assert.rejects(fa.prepare(SPEC, /** @type {any} */ (null)), /^SpecError: options=null: /);
  const odd = any({ kernel: Symbol("fa2") });
  refuses(() => fa.plan(SPEC, odd), /^kernel=Symbol\(fa2\): must be one of auto/);
  refuses(() => fa.plan(/** @type {any} */ (5n)), /^spec=5n: must be an object/);
  await assert.rejects(fa.prepare(SPEC, any({ trace: 1 })), /^SpecError: trace=1: must be true/);
  refuses(
    () => createAttention(device, any({ tune: {} })),
    /^options\.tune: .* shaderBase, shaders/,
  );
  refuses(() => requiredLimits(SPEC, device, any({ extra: 1 })), /^options\.extra: /);
  await assert.rejects(diagnose(device, SPEC, any({ trace: true })), /^SpecError: options\.trace/);
});

test("rows, heads or batches of what is written may not meet, those of what is read may", () => {
  const steps = { batch: 128, row: 16, head: 8 };
  const of = (/** @type {string} */ tensor, /** @type {object} */ changes) => ({
    op: tensor === "o" ? "forward" : "backward",
    strides: { [tensor]: { ...steps, ...changes } },
  });
  for (const tensor of ["o", "dq", "dk", "dv"]) {
    completeSpec({ ...SPEC, .../** @type {any} */ (of(tensor, {})) });
    for (const name of ["batch", "row", "head"]) {
      const zero = new RegExp(`^strides\\.${tensor}\\.${name}=0: ${tensor} is written`);
      refused(of(tensor, { [name]: 0 }), zero);
    }
    refused(
      of(tensor, { head: 7 }),
      /\.head=7: .* elements of a row reach over 8 .*give 8 or more/,
    );
    refused(of(tensor, { row: 15 }), /\.row=15: .*\.head apart reach over 16 elements; give 16/);
    refused(of(tensor, { batch: 127 }), /\.batch=127: .*\.row apart reach over 128 elements/);
  }
  const read = { q: { batch: 0, row: 0, head: 0 }, o: { batch: 0, row: 0, head: 0 } };
  completeSpec({ ...SPEC, op: "backward", strides: read });
  const one = { batch: 0, row: 8, head: 0 };
  completeSpec({ Tq: 8, D: 8, strides: { o: one } }); // where there is one, no step is taken
});

test("the rule refuses all steps that meet, counted place by place", () => {
  const D = 2;
  for (const [B, T, H] of [
    [2, 3, 2],
    [3, 1, 4],
    [2, 2, 3],
  ]) {
    for (let batch = 0; batch < 14; batch++) {
      for (let row = 0; row < 14; row++) {
        for (let head = 0; head < 14; head++) {
          const places = new Set();
          for (let n = 0; n < B * T * H * D; n++) {
            const [b, t, h] = [n % B, Math.floor(n / B) % T, Math.floor(n / (B * T)) % H];
            places.add(b * batch + t * row + h * head + Math.floor(n / (B * T * H)));
          }
          try {
            completeSpec({ B, H, Tq: T, D, strides: { o: { batch, row, head } } });
          } catch {
            continue;
          }
          assert.equal(places.size, B * T * H * D, `${[B, T, H]}: ${[batch, row, head]}`);
        }
      }
    }
  }
});
