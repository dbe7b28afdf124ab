// @ts-check
/**
 * Causal attention on tensors, in the words of a model: C = H·D, ctx is the attention's output o,
 * dctx its gradient.
 *
 *     const ops = createOps(device);
 *     const q = GpuTensor.fromData(device, numbers);              // [B,T,C], as k, v and dctx
 *     const { ctx, lse } = ops.attentionForwardFA2(q, k, v, B, T, C, H);
 *     const { dq, dk, dv } = ops.attentionBackwardFA2(q, k, v, ctx, lse, dctx, B, T, C, H);
 *     const gradient = await dq.download();                       // Float32Array
 *
 * Calls return at once, while their kernels may still compile; only `download` waits. Wrong
 * arguments and what no kernel takes are thrown by the call, later failures by `download`.
 */
import { SpecError } from "./attention/index.js";
import { poolOf } from "./ops/buffer-pool.js";
import { Dispatcher } from "./ops/dispatcher.js";
import { GpuTensor } from "./ops/gpu-tensor.js";

export { GpuTensor };

/**
 * @typedef {object} ForwardOptions
 * @property {boolean} [attn] compute attn in the same run. Default false: it is computed when it is
 *   first looked at, by running the forward again, so q, k and v must live until then
 *
 * @typedef {object} Forward
 * @property {GpuTensor} ctx [B,T,C]
 * @property {GpuTensor} lse [B,H,T], natural log of the sum of the exponentials of a row's scores
 * @property {GpuTensor} attn [B,H,T,T]; nothing of this size exists before it is looked at
 * @property {() => void} destroy destroys those of the three that exist
 *
 * @typedef {object} Backward
 * @property {GpuTensor} dq [B,T,C]
 * @property {GpuTensor} dk [B,T,C]
 * @property {GpuTensor} dv [B,T,C]
 *
 * @typedef {(
 *   q: GpuTensor, k: GpuTensor, v: GpuTensor, B: number, T: number, C: number, H: number,
 *   options?: ForwardOptions
 * ) => Forward} ForwardCall q, k, v: [B,T,C]
 *
 * @typedef {(
 *   q: GpuTensor, k: GpuTensor, v: GpuTensor, ctx: GpuTensor, lse: GpuTensor, dctx: GpuTensor,
 *   B: number, T: number, C: number, H: number
 * ) => Backward} BackwardCall ctx and lse: of the forward; dctx: [B,T,C]
 *
 * @typedef {object} Ops
 * @property {ForwardCall} attentionForward the baseline, for comparison
 * @property {ForwardCall} attentionForwardFA2 FlashAttention-2
 * @property {BackwardCall} attentionBackwardFA2 FlashAttention-2; no matrix of size T·T anywhere
 * @property {import("./ops/buffer-pool.js").PoolMemory & {operationBytes: number}} memory what all
 *   tensors of the device hold at this moment, what waits to be taken again, and what the kernels
 *   of these ops keep for themselves
 * @property {() => void} destroy frees the kernels and what waits; the tensors are the caller's
 */

/**
 * @param {GPUDevice} device with any limits and no features; stays the caller's
 * @param {{shaderBase?: URL, shaders?: Readonly<Record<string, string>>}} [options] where the
 *   shaders are, as for createAttention
 * @returns {Ops}
 */
export function createOps(device, options) {
  const dispatcher = new Dispatcher(device, options);
  const pool = poolOf(device);
  return {
    attentionForward: forwardOf(dispatcher, "baseline"),
    attentionForwardFA2: forwardOf(dispatcher, "fa2"),
    attentionBackwardFA2: backwardOf(dispatcher, "fa2"),
    get memory() {
      return { ...pool.memory, operationBytes: dispatcher.operationBytes };
    },
    destroy: () => {
      dispatcher.destroy();
      pool.drain();
    },
  };
}

/** @param {Dispatcher} dispatcher @param {string} kernel @returns {ForwardCall} */
function forwardOf(dispatcher, kernel) {
  return (q, k, v, B, T, C, H, { attn: atOnce = false } = {}) => {
    const inputs = { q, k, v };
    const spec = specOf(B, T, C, H);
    const shapes = { o: [B, T, C], lse: [B, H, T] };
    const withAttn = () =>
      dispatcher.run({ ...spec, attn: true }, kernel, inputs, { ...shapes, attn: [B, H, T, T] });
    const first = atOnce
      ? withAttn()
      : { ...dispatcher.run(spec, kernel, inputs, shapes), attn: null };
    const { o: ctx, lse } = first;
    /** @type {GpuTensor | null} */
    let attn = first.attn;
    return {
      ctx,
      lse,
      get attn() {
        if (attn === null) {
          const again = withAttn();
          again.o.destroy();
          again.lse.destroy();
          attn = again.attn;
        }
        return attn;
      },
      destroy: () => {
        for (const tensor of [ctx, lse, attn]) {
          if (tensor !== null && !tensor.destroyed) tensor.destroy();
        }
      },
    };
  };
}

/** @param {Dispatcher} dispatcher @param {string} kernel @returns {BackwardCall} */
function backwardOf(dispatcher, kernel) {
  return (q, k, v, ctx, lse, dctx, B, T, C, H) => {
    const spec = { ...specOf(B, T, C, H), op: /** @type {const} */ ("backward") };
    const inputs = { q, k, v, o: ctx, lse, do: dctx };
    const shape = [B, T, C];
    return dispatcher.run(spec, kernel, inputs, { dq: shape, dk: shape, dv: shape });
  };
}

/** @param {number} B @param {number} T @param {number} C @param {number} H */
function specOf(B, T, C, H) {
  for (const [name, value] of Object.entries({ B, T, C, H })) {
    if (!Number.isInteger(value) || value < 1) {
      throw new SpecError(`${name}=${value}: must be a whole number, 1 and up`);
    }
  }
  if (C % H !== 0) throw new SpecError(`C=${C}, H=${H}: H must divide C, so that heads are equal`);
  return { B, H, Tq: T, D: C / H };
}
