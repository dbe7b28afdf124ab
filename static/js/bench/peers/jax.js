// @ts-check
/** jax-js: nn.dotProductAttention under jit, its gradients by vjp. */
import { numbers, Refusal } from "./subject.js";

/** As a variable: type checkers need not look for it. @type {string} */
const LIBRARY = "/peers/@jax-js/jax/dist/index.js";

/** @type {import("./subject.js").Prepare} */
export async function prepare({ spec, inputs }, devices) {
  const jax = await import(LIBRARY);
  const { nn, numpy: np } = jax;
  const found = await jax.init("webgpu");
  if (!found.includes("webgpu")) throw new Error("it found no WebGPU device");
  jax.defaultDevice("webgpu");
  const [device] = devices.all;
  const f16 = spec.dtype === "f16";
  if (f16 && !device.features.has("shader-f16")) {
    throw new Refusal("f16 needs shader-f16, which this adapter does not offer it");
  }
  const { B, Tq, Tk, H, Hkv, D, causal, scale } = spec;
  const dtype = f16 ? np.float16 : np.float32;
  /** @param {"q" | "k" | "v" | "do"} name @param {number[]} shape */
  const upload = (name, shape) =>
    np.array(numbers(/** @type {import("../../inputs.js").Tensor} */ (inputs[name])), {
      shape,
      dtype,
    });
  const args = [
    upload("q", [B, Tq, H, D]),
    upload("k", [B, Tk, Hkv, D]),
    upload("v", [B, Tk, Hkv, D]),
  ];
  const attention = (/** @type {any} */ q, /** @type {any} */ k, /** @type {any} */ v) =>
    nn.dotProductAttention(q, k, v, { isCausal: causal, scale });
  const names = ["o"];
  let compute = jax.jit((/** @type {any} */ ...qkv) => [
    attention(.../** @type {[any, any, any]} */ (qkv)),
  ]);
  if (spec.op === "backward") {
    args.push(upload("do", [B, Tq, H, D]));
    names.push("dq", "dk", "dv");
    compute = jax.jit((/** @type {any[]} */ ...[q, k, v, dO]) => {
      const [o, pullback] = jax.vjp(attention, [q, k, v]);
      const grads = pullback(dO);
      pullback.dispose();
      return [o, ...grads];
    });
  }
  /** @typedef {{arrays: any[], computed: boolean}} Call */
  /** @type {Call} */
  let last = { arrays: [], computed: true };
  /** @type {Promise<void>[]} */
  let queued = [];
  const release = (/** @type {Call} */ { arrays }) => {
    for (const array of arrays) array.dispose();
  };
  return {
    call() {
      const before = last;
      const call = { arrays: compute(...args.map((array) => array.ref)), computed: false };
      last = call;
      if (before.computed) release(before);
      // It computes nothing until somebody waits, and nothing at all of what is given back before.
      const ready = jax.blockUntilReady(call.arrays).then(() => {
        call.computed = true;
        if (call !== last) release(call);
      });
      queued.push(ready);
    },
    async drain() {
      const waiting = queued;
      queued = [];
      await Promise.all(waiting);
      await device.queue.onSubmittedWorkDone();
    },
    async read() {
      const read = last.arrays.map(async (array, n) => [names[n], await array.ref.data()]);
      return Object.fromEntries(await Promise.all(read));
    },
    dispose() {
      release(last);
      for (const array of args) array.dispose();
      /** @type {any} */ (compute).dispose();
    },
  };
}
