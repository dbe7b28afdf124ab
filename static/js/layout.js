// @ts-check

/**
 * From the canonical order of the inputs to the memory that a case asks for.
 *
 * Inputs are made, digested and judged as [B, T, H, D]; `layout` is about storage alone:
 *
 *     bthd     as they are
 *     bhtd     every tensor as [B, H, T, D]
 *     packed   one buffer [B, T, (H + 2 Hkv) D], each row q | k | v side by side
 */

/** @typedef {import("./inputs.js").Tensor} Elements f32 values, or the bits of f16 values */

/**
 * @typedef {object} Sizes
 * @property {number} B
 * @property {number} H
 * @property {number} Hkv
 * @property {number} Tq
 * @property {number} Tk
 * @property {number} D
 * @property {string} layout
 */

/**
 * The buffers to create, each with the names of the tensors that live in it.
 *
 * @param {Sizes} sizes
 * @param {Record<string, Elements>} inputs q, k, v, and do, bias if the case has them
 * @returns {{names: string[], data: Elements}[]}
 */
export function storeInputs(sizes, inputs) {
  const { B, H, Hkv, Tq, Tk, D, layout } = sizes;
  const stored = [];
  for (const [name, data] of Object.entries(inputs)) {
    if (layout === "packed" && "qkv".includes(name)) continue;
    const ofKeys = name === "k" || name === "v";
    const moves = layout === "bhtd" && name !== "bias";
    stored.push({
      names: [name],
      data: moves ? headsFirst(data, B, ofKeys ? Tk : Tq, ofKeys ? Hkv : H, D) : data,
    });
  }
  if (layout === "packed") {
    const { q, k, v } = inputs;
    stored.unshift({ names: ["q", "k", "v"], data: packRows(q, k, v, H * D, Hkv * D) });
  }
  return stored;
}

/**
 * [B, T, H, D] → [B, H, T, D].
 *
 * @param {Elements} data
 * @param {number} B
 * @param {number} T
 * @param {number} H
 * @param {number} D
 */
function headsFirst(data, B, T, H, D) {
  const moved = data.slice();
  for (let b = 0; b < B; b++) {
    for (let t = 0; t < T; t++) {
      for (let h = 0; h < H; h++) {
        const from = ((b * T + t) * H + h) * D;
        moved.set(data.subarray(from, from + D), ((b * H + h) * T + t) * D);
      }
    }
  }
  return moved;
}

/**
 * Rows of q, k and v side by side; all three have the same number of rows (B·T).
 *
 * @param {Elements} q
 * @param {Elements} k
 * @param {Elements} v
 * @param {number} queryWidth H·D
 * @param {number} keyWidth Hkv·D
 */
function packRows(q, k, v, queryWidth, keyWidth) {
  const rows = q.length / queryWidth;
  const width = queryWidth + 2 * keyWidth;
  const packed =
    q instanceof Float32Array ? new Float32Array(rows * width) : new Uint16Array(rows * width);
  for (let row = 0; row < rows; row++) {
    const at = row * width;
    packed.set(q.subarray(row * queryWidth, (row + 1) * queryWidth), at);
    packed.set(k.subarray(row * keyWidth, (row + 1) * keyWidth), at + queryWidth);
    packed.set(v.subarray(row * keyWidth, (row + 1) * keyWidth), at + queryWidth + keyWidth);
  }
  return packed;
}
