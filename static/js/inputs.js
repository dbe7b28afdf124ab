// @ts-check
/**
 * The arrays of a case, made from its seed: the same bits here and in server/inputs.py, which
 * defines the families and says what each is for.
 * @module
 */

import { toF16Bits } from "./f16.js";
import { f16Exact, fillWords, randomNormals, uniforms } from "./rng.js";

/**
 * The fields of a job's spec that decide the inputs.
 *
 * @typedef {object} InputSpec
 * @property {string} op "forward" or "backward"
 * @property {number} B
 * @property {number} Tq
 * @property {number} Tk
 * @property {number} H
 * @property {number} Hkv
 * @property {number} D
 * @property {string} bias "none", "tt", "htt", "bhtt" or "b11t"
 * @property {string} dtype "f32" or "f16"
 * @property {string} dist
 * @property {string} seed decimal or 0x…, below 2⁶⁴
 */

/** @typedef {Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>} Tensor f32, or the bits of f16 */
/** @typedef {{ q: Tensor, k: Tensor, v: Tensor, do?: Tensor, bias?: Tensor }} Inputs */
/** @typedef {"q" | "k" | "v" | "do" | "bias"} Name */

/** Third counter word of each tensor's stream; also the order of the tensors in the digest. */
const TAGS = { q: 0, k: 1, v: 2, do: 3, bias: 4 };
const NAMES = /** @type {Name[]} */ (Object.keys(TAGS));

/**
 * The inputs of a case in logical, C order: q, do [B, Tq, H, D]; k, v [B, Tk, Hkv, D]; do for the
 * backward only; bias [Tq, Tk] (tt), [H, Tq, Tk] (htt), [B, H, Tq, Tk] (bhtt), [B, 1, 1, Tk] (b11t).
 *
 * @param {InputSpec} spec
 * @returns {Inputs}
 */
export function makeInputs(spec) {
  /** @type {Partial<Inputs>} */
  const inputs = {};
  for (const [name, shape] of shapes(spec)) {
    const values = tensor(spec, name, shape);
    inputs[name] = spec.dtype === "f16" ? toF16Bits(values) : values;
  }
  return /** @type {Inputs} */ (inputs);
}

/**
 * SHA-256, hexadecimal, over the little-endian bytes of q, k, v, do, bias in this order.
 *
 * @param {Inputs} inputs
 */
export async function inputDigest(inputs) {
  const parts = NAMES.flatMap((name) => inputs[name] ?? []);
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let end = 0;
  for (const part of parts) {
    all.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), end);
    end += part.byteLength;
  }
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {InputSpec} spec
 * @returns {[Name, number[]][]} the tensors that the case has
 */
function shapes({ op, B, Tq, Tk, H, Hkv, D, bias }) {
  /** @type {[Name, number[]][]} */
  const list = [
    ["q", [B, Tq, H, D]],
    ["k", [B, Tk, Hkv, D]],
    ["v", [B, Tk, Hkv, D]],
  ];
  if (op === "backward") list.push(["do", [B, Tq, H, D]]);
  /** @type {Record<string, number[]>} */
  const biasShapes = { tt: [Tq, Tk], htt: [H, Tq, Tk], bhtt: [B, H, Tq, Tk], b11t: [B, 1, 1, Tk] };
  if (bias !== "none") list.push(["bias", biasShapes[bias]]);
  return list;
}

/**
 * What a family makes a tensor from: its shape and its stream.
 *
 * @typedef {object} Stream
 * @property {number[]} shape
 * @property {() => Float32Array<ArrayBuffer>} normals one number an element
 * @property {() => Uint32Array<ArrayBuffer>} words one word an element
 */

/**
 * One tensor in float32, before any rounding to f16.
 *
 * @param {InputSpec} spec
 * @param {Name} name
 * @param {number[]} shape
 */
function tensor({ dist, seed }, name, shape) {
  const family = FAMILIES[dist];
  if (family === undefined) {
    const known = Object.keys(FAMILIES).join(", ");
    throw new RangeError(`dist=${dist} is unknown; dist takes one of ${known}`);
  }
  const size = shape.reduce((product, n) => product * n, 1);
  const make = family[name] ?? normal;
  return make({
    shape,
    normals: () => randomNormals(seed, TAGS[name], size),
    words: () => fillWords(new Uint32Array(size), seed, TAGS[name]),
  });
}

/** @typedef {(stream: Stream) => Float32Array<ArrayBuffer>} Maker */

/** @type {Maker} */
const normal = ({ normals }) => normals();
/** @type {Maker} */
const uniform = ({ words }) => uniforms(words());
/** @type {Maker} */
const exact = ({ words }) => f16Exact(words());
/** @type {Maker} */
const zeros = ({ shape }) => new Float32Array(shape.reduce((product, n) => product * n, 1));

/** @type {Maker} */
function repeatFirstRow({ shape: [B, T, H, D], normals }) {
  const out = normals();
  const width = H * D;
  for (let b = 0; b < B; b++) {
    const first = b * T * width;
    for (let t = 1; t < T; t++) out.copyWithin(first + t * width, first, first + width);
  }
  return out;
}

/** @type {Maker} */
function onehot(stream) {
  const out = zeros(stream);
  const D = stream.shape[3];
  eachRow(stream.shape, (start, t) => {
    out[start + (t % D)] = 8;
  });
  return out;
}

/** @type {Maker} */
function large({ normals }) {
  return normals().map((g) => 32 * g);
}

/**
 * @param {number} D
 * @returns {[number, number]} exponents of q and k, by integers only: no logarithm rounds
 */
function negativeExponents(D) {
  let total = 0;
  while (4 ** (total + 1) * D <= 1e8) total++;
  return [Math.ceil(total / 2), Math.floor(total / 2)];
}

/** @param {"q" | "k"} name @returns {Maker} */
function negative(name) {
  return (stream) => {
    const [x, y] = negativeExponents(stream.shape[3]);
    const factor = name === "q" ? -(2 ** x) : 2 ** y;
    const words = stream.words();
    const out = zeros(stream);
    for (let e = 0; e < out.length; e++) out[e] = factor * (1 + (words[e] >>> 17) * 2 ** -23);
    return out;
  };
}

/** @type {Maker} */
function growingKeys({ shape, normals }) {
  const D = shape[3];
  let s = 0;
  while (4 ** s < D) s++;
  const step = 2 ** -(3 + s);
  const out = normals();
  eachRow(shape, (start, t) => {
    // Math.fround where float32 rounds; the store into `out` rounds the sum.
    const base = Math.fround(t) * step;
    for (let e = start; e < start + D; e++) out[e] = base + 0.125 * out[e];
  });
  return out;
}

/** @param {number[]} factors powers of two, by head modulo their number @returns {Maker} */
function headScaled(factors) {
  return ({ shape, normals }) => {
    const out = normals();
    eachRow(shape, (start, _t, h) => {
      const factor = factors[h % factors.length];
      for (let e = start; e < start + shape[3]; e++) out[e] *= factor;
    });
    return out;
  };
}

/** @type {Maker} */
function indexCode(stream) {
  const out = zeros(stream);
  const D = stream.shape[3];
  eachRow(stream.shape, (start, t, h, b) => {
    for (let d = 0; d < D; d++) out[start + d] = 1 + ([t, h, b, d][d % 4] % 61);
  });
  return out;
}

/**
 * Calls `visit` for each of the B·T·H rows of D elements.
 *
 * @param {number[]} shape
 * @param {(start: number, t: number, h: number, b: number) => void} visit
 */
function eachRow([B, T, H, D], visit) {
  let start = 0;
  for (let b = 0; b < B; b++) {
    for (let t = 0; t < T; t++) {
      for (let h = 0; h < H; h++, start += D) visit(start, t, h, b);
    }
  }
}

/**
 * How each family makes each tensor; a tensor that is not named is normal.
 *
 * @type {Record<string, Partial<Record<Name, Maker>>>}
 */
const FAMILIES = {
  normal: {},
  uniform: { q: uniform, k: uniform, v: uniform },
  f16exact: { q: exact, k: exact, v: exact, do: exact, bias: exact },
  zeros: { q: zeros, k: zeros },
  ties: { k: repeatFirstRow, v: repeatFirstRow },
  onehot: { q: onehot, k: onehot },
  large: { q: large },
  negative: { q: negative("q"), k: negative("k") },
  growing: { q: ({ words }) => uniforms(words()).map((u) => (1 + u) * 0.5), k: growingKeys },
  headscaled: {
    q: headScaled([0.5, 1, 2]),
    k: headScaled([0.5, 1, 2]),
    v: headScaled([0.125, 0.25, 0.5, 1, 2, 4, 8]),
  },
  indexcoded: { v: indexCode },
};
