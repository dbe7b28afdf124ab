// @ts-check
/** What a kernel that is not ours binds, in bytes. */

import { bufferBytes } from "../attention/buffer-sizes.js";
import { Unsupported } from "../attention/index.js";
import { DBG_LEAST_BYTES } from "../attention/instrument.js";
import { DBG } from "./bind.js";
import { numberFor } from "./constants.js";
import { ManifestError } from "./errors.js";

/** @typedef {import("./types.js").Manifest} Manifest */
/** @typedef {import("./types.js").Bound} Bound */
/** @typedef {import("../attention/spec.js").FullSpec} FullSpec */
/** @typedef {import("../attention/index.js").Limits} Limits */

/**
 * Bytes of every tensor that is bound.
 *
 * @param {readonly Bound[]} bound
 * @param {FullSpec} spec
 * @returns {Record<string, number>}
 * @throws {ManifestError} the case has no such tensor
 */
export function tensorsOf(bound, spec) {
  const bytes = { ...bufferBytes(spec), ...extraBytes(spec) };
  return Object.fromEntries(
    bound.flatMap(({ kind, name, variable }) => {
      if (kind !== "tensor") return [];
      const packed = ["q", "k", "v"].includes(name) ? bytes.qkv : undefined;
      const size = bytes[name] ?? packed;
      if (size !== undefined) return [[name, size]];
      throw new ManifestError(`bindings.${variable.name}`, `a ${spec.op} has no ${name}`);
    }),
  );
}

/**
 * Buffers that passes hand on to one another.
 *
 * @param {Manifest} manifest
 * @param {readonly Bound[]} bound
 * @param {Readonly<Record<string, number>>} names
 * @param {Limits} limits
 * @returns {Record<string, {bytes: number, zero: boolean}>}
 * @throws {ManifestError} nothing is bound to one
 * @throws {Unsupported} one is larger than the device binds
 */
export function scratchOf({ scratch = {} }, bound, names, limits) {
  const most = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  return Object.fromEntries(
    Object.entries(scratch).map(([name, said]) => {
      const { bytes, zero = false } = typeof said === "object" ? said : { bytes: said };
      if (!bound.some((one) => one.kind === "scratch" && one.name === name)) {
        throw new ManifestError(`scratch.${name}`, "no variable is bound to it");
      }
      const size = numberFor(`scratch.${name}`, bytes, "u32", names);
      if (size > most) {
        throw new Unsupported(
          `scratch.${name} is ${size} bytes here (${bytes}), this device binds at most ${most}; use a ` +
            "smaller case",
        );
      }
      return [name, { bytes: Math.max(4, Math.ceil(size / 4) * 4), zero }];
    }),
  );
}

/** Tensors beside those of the library. @param {FullSpec} spec @returns {Record<string, number>} */
function extraBytes({ B, H, Tq, Tk, bias, dtype }) {
  const lse = 4 * B * H * Tq;
  const elements = { none: 0, tt: Tq * Tk, htt: H * Tq * Tk, bhtt: B * H * Tq * Tk, b11t: B * Tk };
  const count = elements[/** @type {keyof typeof elements} */ (bias)] ?? 0;
  const size = Math.ceil((count * (dtype === "f16" ? 2 : 4)) / 4) * 4;
  return { delta: lse, attn: lse * Tk, bias: size, dbias: 4 * count, [DBG]: DBG_LEAST_BYTES };
}
