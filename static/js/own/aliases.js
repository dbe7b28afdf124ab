// @ts-check
/**
 * Names that are understood by themselves. They are compared without capitals and underscores, and
 * without an ending `buf`, `buffer` or `in`/`out`: Q_buf, q_in and q are one name.
 */

import { VALUE_NAMES } from "./values.js";

/** Tensors that a kernel may bind, with the names that kernels give to them. */
const TENSORS = {
  q: ["query", "queries"],
  k: ["key", "keys"],
  v: ["value", "values"],
  bias: ["attnbias"],
  o: ["out", "output", "ctx", "context"],
  lse: ["l", "logsumexp", "softmaxlse"],
  attn: ["attention", "attnweights"],
  do: ["dout", "doutput", "grado", "gradout", "dctx"],
  delta: ["rowsum"],
  dq: ["gradq", "dquery"],
  dk: ["gradk", "dkey"],
  dv: ["gradv", "dvalue"],
  dbias: ["gradbias"],
};

/** Values, with the names that uniforms and constants give to them. */
const VALUES = {
  B: ["batch", "batches", "batchsize", "nbatch"],
  H: ["heads", "nheads", "numheads", "nhead", "qheads", "nqheads", "numqheads"],
  Hkv: ["kvheads", "nkvheads", "numkvheads", "headskv", "kheads"],
  T: ["seqlen", "seq", "n", "ntokens"],
  Tq: ["nq", "seqq", "seqlenq", "lenq", "qlen", "tquery"],
  Tk: ["nk", "seqk", "seqlenk", "lenk", "klen", "kvlen", "tkey", "seqlenkv"],
  D: ["d", "hd", "headdim", "headsize", "dhead", "dimhead"],
  C: ["channels", "dmodel", "width"],
  Ckv: [],
  scale: ["smscale", "softmaxscale", "attnscale"],
  scale_log2: ["scalelog2e"],
  causal: ["iscausal"],
  causal_offset: ["diagonal"],
  group: ["groupsize", "gqa", "qperkv"],
  window_left: ["windowsizeleft"],
  window_right: ["windowsizeright"],
  softcap: [],
};

/** @param {string} name */
const plain = (name) => name.toLowerCase().replaceAll("_", "");

/** @param {Record<string, string[]>} names @returns {Map<string, string>} */
const table = (names) =>
  new Map(Object.entries(names).flatMap(([to, from]) => [to, ...from].map((n) => [plain(n), to])));

const BY_TENSOR = table(TENSORS);
const BY_VALUE = table({
  ...Object.fromEntries(VALUE_NAMES.map((name) => [name, []])),
  ...VALUES,
  // What common/params.wgsl has beside them: our own kernels run in one piece here.
  first_workgroup: [],
  end_workgroup: [],
  grid_width: [],
  slices: [],
});

export const TENSOR_NAMES = Object.freeze(Object.keys(TENSORS));

/** The tensor that a variable's name means; undefined = none. @param {string} variable */
export function tensorMeant(variable) {
  const name = plain(variable);
  const short = name.replace(/(?:buffer|buf|tensor|data|in|out)$/, "");
  return BY_TENSOR.get(name) ?? BY_TENSOR.get(short);
}

/** The value that a member's or constant's name means; undefined = none. @param {string} name */
export const valueMeant = (name) => BY_VALUE.get(plain(name.replace(/^.*\./, "")));
