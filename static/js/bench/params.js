// @ts-check
/** The uniform of the measuring kernels; struct Params of static/shaders/bench/params.wgsl. */

/** @type {readonly import("../attention/params.js").Member[]} */
export const BENCH_PARAMS = [
  ["rounds", "u32"],
  ["factor", "f32"],
  ["addend", "f32"],
  ["never", "f32"],
];

/**
 * x · 0.5 + 1 comes to rest at 2, so nothing overflows and nothing becomes subnormal; it is never
 * negative.
 *
 * @param {number} rounds
 */
export function benchParams(rounds) {
  const words = new DataView(new ArrayBuffer(16));
  words.setUint32(0, rounds, true);
  [0.5, 1, -1].forEach((value, n) => {
    words.setFloat32(4 + 4 * n, value, true);
  });
  return words.buffer;
}
