// @ts-check
/**
 * The uniform that every kernel reads: one description, packed here and compared with the WGSL
 * struct `Params` when a shader is composed. All members are 4 bytes wide, so member n lies at
 * byte 4 n, without padding.
 */

/**
 * @typedef {"u32" | "i32" | "f32"} ScalarType
 * @typedef {readonly [string, ScalarType]} Member
 * @typedef {Record<string, number>} ParamValues
 */

const TENSORS = ["q", "k", "v", "o", "do", "dq", "dk", "dv"];

/** Members in order. @type {readonly Member[]} */
export const PARAMS = [
  ["B", "u32"],
  ["H", "u32"],
  ["Tq", "u32"],
  ["Tk", "u32"],
  ["group", "u32"],
  ["causal_offset", "i32"],
  ["scale", "f32"],
  ["first_workgroup", "u32"],
  ["end_workgroup", "u32"],
  ["grid_width", "u32"],
  ["slices", "u32"],
  ...TENSORS.flatMap((t) =>
    ["offset", "batch", "row", "head"].map((s) => /** @type {const} */ ([`${t}_${s}`, "u32"])),
  ),
];

/** Bytes of one packed Params; a uniform's size is a multiple of 16. */
export const PARAMS_BYTES = Math.ceil((PARAMS.length * 4) / 16) * 16;

/** From one Params of a uniform to the next: no device asks for a coarser alignment. */
export const PARAMS_STRIDE = Math.ceil(PARAMS_BYTES / 256) * 256;

/**
 * Packs one Params (little-endian, as WebGPU has it).
 * @param {ParamValues} values every member by name
 * @param {DataView} into at least PARAMS_BYTES long
 * @param {number} at byte offset
 * @param {readonly Member[]} [members] in order
 * @throws {RangeError} a member is missing, superfluous or out of its type's range
 */
export function packParams(values, into, at, members = PARAMS) {
  const unknown = Object.keys(values).find((name) => !members.some(([n]) => n === name));
  if (unknown !== undefined) throw new RangeError(`params: there is no member "${unknown}"`);
  members.forEach(([name, type], n) => {
    const value = values[name];
    const low = type === "i32" ? -(2 ** 31) : 0;
    const high = type === "i32" ? 2 ** 31 : 2 ** 32;
    const fits = type === "f32" ? Number.isFinite(value) : value >= low && value < high;
    if (!fits || (type !== "f32" && !Number.isInteger(value))) {
      throw new RangeError(`params.${name}=${value} is not a ${type}`);
    }
    if (type === "f32") into.setFloat32(at + 4 * n, value, true);
    else into.setUint32(at + 4 * n, value, true); // i32: two's complement, the same bits
  });
}

/**
 * Compares a WGSL text's `struct Params` with the packing.
 * @param {string} text WGSL without comments
 * @param {readonly Member[]} [packed] what is packed
 * @returns {{message: string, index: number} | null} the first difference and where it stands
 */
export function paramsMismatch(text, packed = PARAMS) {
  const struct = /\bstruct\s+Params\s*\{([^}]*)\}/.exec(text);
  if (struct === null) return { message: "no struct Params: every kernel reads it", index: 0 };
  const body = struct.index + struct[0].indexOf("{") + 1;
  const members = [...struct[1].matchAll(/([A-Za-z_]\w*)\s*:\s*([^,\s]+(?:\s*<[^>]*>)?)/g)];
  for (let n = 0; n < Math.max(members.length, packed.length); n++) {
    const shader = members[n] ? `${members[n][1]}: ${members[n][2]}` : "nothing";
    const wanted = packed[n] ? `${packed[n][0]}: ${packed[n][1]}` : "nothing";
    if (shader !== wanted) {
      const message = `struct Params, member ${n}: the shader has ${shader}, params.js packs ${wanted}`;
      return { message, index: body + (members[n]?.index ?? struct[1].length) };
    }
  }
  return null;
}
