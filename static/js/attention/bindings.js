// @ts-check
/**
 * Where each tensor is bound, the same number in every kernel, so that one file of declarations
 * serves many kernels. Number 0 is the uniform. A kernel leaves out what it does not use.
 */

export const BINDINGS = Object.freeze({
  q: 1,
  k: 2,
  v: 3,
  o: 4,
  lse: 5,
  do: 6,
  delta: 7,
  dq: 8,
  dk: 9,
  dv: 10,
  attn: 11,
  dscores: 12,
  o_part: 13,
  ml_part: 14,
  dbg: 15,
  row_terms: 16,
});
