// @ts-check
/** Which cases a kernel takes: what its manifest says, else what its text reads. */

/** @typedef {import("./types.js").Supports} Supports */
/** @typedef {import("../attention/spec.js").FullSpec} FullSpec */

/**
 * Why a kernel does not take a case; "" = it does.
 *
 * What the manifest leaves open follows from what the kernel reads: one that is told neither Hkv
 * nor group knows no grouped heads, and so on. Nothing but f32, and no bias, window or softcap, is
 * taken unless the manifest says so.
 *
 * @param {string} op of the kernel
 * @param {Supports} supports
 * @param {FullSpec} spec
 * @param {ReadonlySet<string>} reads names of values that its uniforms, constants and grids hold
 */
export function refusal(op, supports, spec, reads) {
  if (spec.op !== op) return `it computes a ${op}, the case is a ${spec.op}`;
  const full = complete(supports, reads);
  const { Tq, Tk, D, H, Hkv, causal, align, scale, layout, dtype, bias, window, softcap } = spec;
  const offset = align === "br" ? Tk - Tq : 0;
  /** @type {[boolean, string][]} */
  const rules = [
    [full.dtype.includes(dtype), `dtype=${dtype} is not among ${full.dtype.join(", ")}`],
    [full.causal.includes(causal), `causal=${Number(causal)} is not supported`],
    [full.layout.includes(layout), `layout=${layout} is not among ${full.layout.join(", ")}`],
    [bias === "none" || full.bias.includes(bias), `bias=${bias} is not supported`],
    [Tq === Tk || full.cross, `Tq=${Tq}, Tk=${Tk}: it takes Tq = Tk only`],
    [
      Tq === Tk || !causal || full.align.includes(align),
      `align=${align} with Tq=${Tq}, Tk=${Tk} is not supported`,
    ],
    [
      scale === Math.fround(1 / Math.sqrt(D)) || reads.has("scale") || reads.has("scale_log2"),
      `scale=${scale}: it reads neither scale nor scale_log2, so it can have 1/√D only`,
    ],
    [H === Hkv || full.grouped, `Hkv=${Hkv} with H=${H}: it knows no grouped heads`],
    [window.every((w) => w === -1) || full.window, `window=${window.join(":")} is not supported`],
    [softcap === 0 || full.softcap, `softcap=${softcap} is not supported`],
    [!causal || offset >= 0 || full.empty_rows, "it takes no rows that see no key"],
    [D <= full.max_D, `D=${D} is more than its ${full.max_D} (max_D)`],
    [
      Math.max(Tq, Tk) <= full.max_T,
      `${Math.max(Tq, Tk)} rows are more than its ${full.max_T} (max_T)`,
    ],
    [D % full.D_multiple_of === 0, `D=${D} is no multiple of ${full.D_multiple_of}`],
    [
      Tq % full.T_multiple_of === 0 && Tk % full.T_multiple_of === 0,
      `Tq=${Tq}, Tk=${Tk}: no multiples of ${full.T_multiple_of}`,
    ],
  ];
  return rules.find(([holds]) => !holds)?.[1] ?? "";
}

/**
 * @param {Supports} said
 * @param {ReadonlySet<string>} reads
 * @returns {Required<Supports>}
 */
export function complete(said, reads) {
  const strides = ["q_row", "k_row", "v_row"].every((name) => reads.has(name));
  return {
    dtype: ["f32"],
    causal: reads.has("causal") ? [true, false] : [true],
    align: reads.has("causal_offset") ? ["br", "tl"] : [],
    layout: strides ? ["bthd", "bhtd", "packed"] : ["bthd"],
    bias: [],
    cross: reads.has("Tq") && reads.has("Tk"),
    grouped: reads.has("Hkv") || reads.has("group"),
    empty_rows: true,
    window: false,
    softcap: false,
    max_D: Number.POSITIVE_INFINITY,
    max_T: Number.POSITIVE_INFINITY,
    D_multiple_of: 1,
    T_multiple_of: 1,
    ...said,
  };
}
