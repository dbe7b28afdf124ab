// @ts-check
/**
 * float32 to float16 without Float16Array, which not every engine has. float16: 1 sign bit,
 * 5 bits of exponent (bias 15), 10 bits of significand.
 * @module
 */

/**
 * The bits of each value as f16, rounded to the nearest, ties to even.
 *
 * @param {Float32Array} values
 */
export function toF16Bits(values) {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const out = new Uint16Array(values.length);
  for (let e = 0; e < out.length; e++) out[e] = f16FromF32(bits[e]);
  return out;
}

/**
 * @param {number} bits of a float32
 * @returns {number} bits of a float16
 */
function f16FromF32(bits) {
  const sign = (bits >>> 16) & 0x8000;
  const size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00; // NaN
  if (size >= 0x477ff000) return sign | 0x7c00; // 65520 and more round to infinity
  if (size < 0x33000001) return sign; // 2⁻²⁵ and less round to zero
  // The significand, and how many of its bits are lost: 13, or more below 2⁻¹⁴ (f16 subnormals).
  const exponent = size >>> 23;
  const normal = exponent >= 113;
  const lost = normal ? 13 : 126 - exponent;
  // A normal keeps its exponent, rebiased, above the significand: a carry then raises it.
  const full = normal ? size - (112 << 23) : (size & 0x7fffff) | 0x800000;
  const kept = full >>> lost;
  const rest = full & ((1 << lost) - 1);
  const half = 1 << (lost - 1);
  return sign | (kept + (rest > half || (rest === half && (kept & 1) === 1) ? 1 : 0));
}
