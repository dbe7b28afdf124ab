// @ts-check
/** How many bytes each tensor takes, and whether a device and an index hold that. */
import { evaluateSize, numbersOf } from "./size-expression.js";

/**
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./types.js").Limits} Limits
 * @typedef {import("./registry.js").Choice} Choice
 * @typedef {import("./tiles.js").Fit} Fit
 */

/** Bytes of an element of Q, K, V, O and their gradients; lse and attn are always f32. */
const ELEMENT_BYTES = /** @type {Readonly<Record<string, number>>} */ ({ f32: 4, f16: 2 });

/** How many elements a kernel can tell apart: indices are u32. */
const INDICES = 2 ** 32;

/** The sizes that the registry's formulas may name. @param {FullSpec} spec */
export const sizesOf = ({ B, H, Hkv, Tq, Tk, D }) => ({ B, H, Hkv, Tq, Tk, HEAD_DIM: D });

/**
 * Bytes that each binding needs, from its first byte to its last element.
 * @param {FullSpec} spec
 * @returns {Record<string, number>}
 */
export function bufferBytes(spec) {
  const { B, H, Hkv, Tq, Tk, D, dtype, strides } = spec;
  /** @param {import("./spec.js").Strided} tensor @param {number} T @param {number} heads */
  const span = (tensor, T, heads) => {
    const { offset, batch, row, head } = strides[tensor];
    const elements = offset + (B - 1) * batch + (T - 1) * row + (heads - 1) * head + D;
    return Math.ceil((ELEMENT_BYTES[dtype] * elements) / 4) * 4; // bindings end at whole words
  };
  const q = span("q", Tq, H);
  const k = span("k", Tk, Hkv);
  const v = span("v", Tk, Hkv);
  const lse = 4 * B * H * Tq;
  /** @type {Record<string, number>} */
  const bytes = spec.packed ? { qkv: Math.max(q, k, v) } : { q, k, v };
  bytes.o = span("o", Tq, H);
  bytes.lse = lse;
  if (spec.attn) bytes.attn = lse * Tk;
  if (spec.op === "backward") {
    bytes.do = span("do", Tq, H);
    bytes.dq = span("dq", Tq, H);
    bytes.dk = span("dk", Tk, Hkv);
    bytes.dv = span("dv", Tk, Hkv);
  }
  return bytes;
}

/**
 * Of these the ones that passes bind.
 * @param {readonly Fit[]} fits @param {FullSpec} spec
 * @returns {Record<string, number>}
 */
export function boundBytes(fits, spec) {
  const bound = new Set(["qkv", ...fits.flatMap(({ row }) => Object.keys(row.bindings))]);
  return Object.fromEntries(Object.entries(bufferBytes(spec)).filter(([name]) => bound.has(name)));
}

/**
 * Bytes of each tensor that the passes hand on to one another and that the library allocates.
 * @param {Choice} choice
 * @param {readonly Fit[]} fits whose constants the sizes may name
 * @param {FullSpec} spec
 * @returns {Record<string, number>}
 */
export function scratchBytes(choice, fits, spec) {
  const { scratch = {} } = choice;
  const own = Object.entries(scratch).filter(([name]) => !(name === "attn" && spec.attn));
  const names = { ...namesOf(fits, spec), slices: slicesOf(choice, fits, spec) };
  return Object.fromEntries(own.map(([name, size]) => [name, evaluateSize(size, names)]));
}

/**
 * How many slices a choice cuts the keys into, each a run of workgroups of its own.
 * @param {Choice} choice
 * @param {readonly Fit[]} fits whose constants the size may name
 * @param {FullSpec} spec
 */
export const slicesOf = ({ slices = "1" }, fits, spec) => evaluateSize(slices, namesOf(fits, spec));

/**
 * What the sizes of a choice may name: of a constant that several passes have, the first pass's, or
 * the pass that writes attn would change the sizes of those before it.
 * @param {readonly Fit[]} fits @param {FullSpec} spec
 */
const namesOf = (fits, spec) => ({
  ...numbersOf(...fits.map(({ constants }) => constants).reverse()),
  ...sizesOf(spec),
});

/**
 * Why the device or a 32-bit index cannot hold some of these buffers, or null.
 * @param {Record<string, number>} buffers bytes by name
 * @param {Limits} limits
 * @param {(name: string) => string} wayOut what to do instead
 * @param {string} [dtype] of the tensors; f32 is that of what the library allocates
 * @returns {string | null}
 */
export function tooLarge(buffers, limits, wayOut, dtype = "f32") {
  for (const [name, bytes] of Object.entries(buffers)) {
    const elementBytes = ["lse", "attn"].includes(name) ? 4 : ELEMENT_BYTES[dtype];
    // Indices are u32 elements in the shaders, hence the last bound.
    for (const [limit, most] of /** @type {const} */ ([
      ["maxStorageBufferBindingSize", limits.maxStorageBufferBindingSize],
      ["maxBufferSize", limits.maxBufferSize],
      ["32-bit element indices", INDICES * elementBytes],
    ])) {
      if (bytes > most) {
        return (
          `${name} needs a buffer of ${bytes} bytes, this device offers ${most} (${limit}); ` +
          wayOut(name)
        );
      }
    }
  }
  return null;
}

/**
 * Why the device cannot hold the caller's own, or null.
 * @param {Record<string, number>} buffers @param {Limits} limits @param {FullSpec} spec
 */
export const callersTooLarge = (buffers, limits, { dtype }) =>
  tooLarge(
    buffers,
    limits,
    (name) => (name === "attn" ? "leave attn out" : "request a larger limit or split the batch"),
    dtype,
  );

/**
 * Why an index cannot count a stride, or null. Also one that is never taken, as that of batches
 * where there is one: it would not fit into the uniform.
 * @param {FullSpec} spec
 * @returns {string | null}
 */
export function tooFar({ strides }) {
  for (const [tensor, steps] of Object.entries(strides)) {
    for (const [name, elements] of Object.entries(steps)) {
      if (elements >= INDICES) {
        return (
          `strides.${tensor}.${name}=${elements}: kernels count up to ${INDICES - 1} elements ` +
          "(32-bit indices); split the tensor, or give 0 where there is one batch, row or head"
        );
      }
    }
  }
  return null;
}
