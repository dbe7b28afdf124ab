// @ts-check

/**
 * Reads a safetensors file: u64 header length, JSON header, raw little-endian tensors.
 *
 * The format is public (huggingface/safetensors), so what the page reads, a notebook reads too.
 * Only the element types that this server sends are known here.
 */

/** @typedef {Float32Array | Float64Array | Uint32Array} Elements */

const ELEMENTS = /** @type {const} */ ({ F32: Float32Array, F64: Float64Array, U32: Uint32Array });

/**
 * @param {ArrayBuffer} file
 * @returns {{metadata: Record<string, string>, tensors: Record<string, Elements>}}
 */
export function readSafetensors(file) {
  const headerBytes = Number(new DataView(file).getBigUint64(0, true));
  const text = new TextDecoder().decode(new Uint8Array(file, 8, headerBytes));
  const { __metadata__: metadata = {}, ...entries } = JSON.parse(text);
  /** @type {Record<string, Elements>} */
  const tensors = {};
  for (const [name, { dtype, data_offsets }] of Object.entries(entries)) {
    const Type = ELEMENTS[/** @type {keyof typeof ELEMENTS} */ (dtype)];
    if (!Type) throw new Error(`safetensors: ${name} is ${dtype}; known are F32, F64 and U32`);
    const [begin, end] = data_offsets.map((/** @type {number} */ n) => 8 + headerBytes + n);
    tensors[name] = new Type(file.slice(begin, end)); // a copy: offsets need not be aligned
  }
  return { metadata, tensors };
}
