// @ts-check
/** The bytes of a uniform buffer, at the offsets that WGSL gives its members. */

import { numberFor } from "./constants.js";
import { ManifestError } from "./errors.js";

/** @typedef {import("./types.js").Field} Field */

const BYTES = /** @type {Record<string, number>} */ ({ u32: 4, i32: 4, f32: 4 });

/**
 * @param {readonly Field[]} fields of one variable
 * @param {number} size bytes of the variable
 * @param {Readonly<Record<string, number>>} names
 * @returns {ArrayBuffer} its length a multiple of 16
 * @throws {ManifestError} a value that its type does not hold
 */
export function packFields(fields, size, names) {
  const bytes = new ArrayBuffer(Math.ceil(Math.max(size, 16) / 16) * 16);
  const view = new DataView(bytes);
  for (const { member, values, variable } of fields) {
    const { type, offset } = member;
    const field = `uniforms.${member.path || variable}`;
    if (!(type in BYTES)) {
      throw new ManifestError(field, `members of the type ${type} cannot be filled; use f32`);
    }
    values.forEach((value, n) => {
      const number = numberFor(field, value, type, names);
      const at = offset + n * BYTES[type];
      if (type === "f32") view.setFloat32(at, number, true);
      else view.setUint32(at, number, true); // i32: two's complement, the same bits
    });
  }
  return bytes;
}
