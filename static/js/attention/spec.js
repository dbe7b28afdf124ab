// @ts-check
/** A request with every default filled in, or the sentence that says what is wrong with it. */
import { SpecError } from "./errors.js";
import { knownKeys, mustBeFlag } from "./known-keys.js";
import { overlap } from "./overlap.js";
import { shown, shownWord } from "./shown.js";

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").Strides} Strides
 * @typedef {"q" | "k" | "v" | "o" | "do" | "dq" | "dk" | "dv"} Strided tensors of rows and heads
 * @typedef {Required<Omit<Spec, "scale" | "strides">> & {
 *   scale: number, strides: Record<Strided, Required<Strides>>, packed: boolean,
 * }} FullSpec
 */

/** @type {readonly Strided[]} */
const STRIDED = ["q", "k", "v", "o", "do", "dq", "dk", "dv"];

/** What kernels write of these. @type {Readonly<Record<string, readonly Strided[]>>} */
const WRITTEN = { forward: ["o"], backward: ["dq", "dk", "dv"] };

const STRIDES = ["offset", "batch", "row", "head"];

/** @satisfies {readonly (keyof Spec)[]} */
const FIELDS = /** @type {const} */ ([
  ...["op", "B", "H", "Hkv", "Tq", "Tk", "D", "causal", "align", "scale", "layout", "strides"],
  ...["attn", "window", "softcap", "bias", "dtype"],
]);

/** With q and k of ordinary size no score comes near what stands for −∞ (common/floors.wgsl). */
const MAX_SCALE = 1e30;

/** Sizes are below this, so that differences of them are i32. */
const SIZES_END = 2 ** 31;

/**
 * Fills in defaults and checks the request against itself (not against kernels or devices).
 * @param {Spec} spec
 * @returns {FullSpec}
 * @throws {SpecError} naming the value, the rule and the way out
 */
export function completeSpec(spec) {
  const { B = 1, H = 1, Tq, D } = knownKeys("spec", spec, FIELDS);
  const { Hkv = H, Tk = Tq } = spec;
  for (const [name, value] of Object.entries({ B, H, Hkv, Tq, Tk, D })) {
    if (!Number.isInteger(value) || value < 1 || value >= SIZES_END) {
      throw new SpecError(`${name}=${shown(value)}: must be a whole number, 1 to ${SIZES_END - 1}`);
    }
  }
  if (H % Hkv !== 0) {
    throw new SpecError(`H=${H}, Hkv=${Hkv}: Hkv must divide H, so that heads form equal groups`);
  }
  const { causal = true, attn = false, align = "br", layout = "bthd" } = spec;
  mustBeFlag("causal", causal);
  mustBeFlag("attn", attn);
  oneOf("align", align, ["br", "tl"]);
  oneOf("layout", layout, ["bthd", "bhtd", "packed"]);
  const { dtype = "f32" } = spec;
  oneOf("dtype", dtype, ["f32", "f16"]);
  if (layout === "packed" && Tq !== Tk) {
    throw new SpecError(`layout=packed, Tq=${Tq}, Tk=${Tk}: q, k and v share rows, so Tq = Tk`);
  }
  const given = spec.scale ?? 1 / Math.sqrt(D);
  const scale = typeof given === "number" ? Math.fround(given) : Number.NaN;
  if (!Number.isFinite(scale)) {
    throw new SpecError(
      `scale=${shown(given)}: must be a number that is finite in float32, null = 1/√D`,
    );
  }
  if (Math.abs(given) > MAX_SCALE) {
    throw new SpecError(
      `scale=${shown(given)}: must be between -${MAX_SCALE} and ${MAX_SCALE}, or scores leave float32`,
    );
  }
  const { window = [-1, -1], softcap = 0, bias = "none", op = "forward" } = spec;
  const pair = Array.isArray(window) ? [...window] : [];
  if (pair.length !== 2 || !pair.every((w) => Number.isInteger(w) && w >= -1)) {
    const sides = Array.isArray(window) ? window.map(shown).join(":") : shown(window);
    throw new SpecError(`window=${sides}: must be two whole numbers, -1 = open on that side`);
  }
  if (!Number.isFinite(softcap) || softcap < 0) {
    throw new SpecError(`softcap=${shown(softcap)}: must be 0 (off) or a positive number`);
  }
  oneOf("bias", bias, ["none", "tt", "htt", "bhtt", "b11t"]);
  oneOf("op", op, ["forward", "backward"]);
  const shape = { B, H, Hkv, Tq, Tk, D };
  const strides = { ...stridesOf(layout, shape), ...fullStrides(spec.strides) };
  for (const tensor of WRITTEN[op]) {
    const [row, head] = ["dk", "dv"].includes(tensor) ? [Tk, Hkv] : [Tq, H];
    const why = overlap(tensor, strides[tensor], { batch: B, row, head }, D);
    if (why !== null) throw new SpecError(why);
  }
  return {
    ...shape,
    causal,
    attn,
    align,
    layout,
    scale,
    window,
    softcap,
    bias,
    dtype,
    op,
    strides,
    packed: layout === "packed",
  };
}

/** @param {string} name @param {unknown} value @param {readonly string[]} allowed */
function oneOf(name, value, allowed) {
  if (!allowed.includes(/** @type {string} */ (value))) {
    throw new SpecError(`${name}=${shownWord(value)}: must be one of ${allowed.join(", ")}`);
  }
}

/**
 * @param {string} layout
 * @param {{H: number, Hkv: number, Tq: number, Tk: number, D: number}} shape
 * @returns {Record<Strided, Required<Strides>>}
 */
function stridesOf(layout, { H, Hkv, Tq, Tk, D }) {
  /** @param {number} T @param {number} heads @param {number} [width] @param {number} [offset] */
  const rows = (T, heads, width = heads * D, offset = 0) => ({
    offset,
    batch: T * width,
    row: width,
    head: D,
  });
  /** @param {number} T @param {number} heads */
  const heads = (T, heads) => ({ offset: 0, batch: heads * T * D, row: D, head: T * D });
  const [query, key] =
    layout === "bhtd" ? [heads(Tq, H), heads(Tk, Hkv)] : [rows(Tq, H), rows(Tk, Hkv)];
  const gradients = { do: query, dq: query, dk: key, dv: key };
  if (layout === "packed") {
    const width = (H + 2 * Hkv) * D;
    return {
      q: rows(Tq, H, width),
      k: rows(Tk, Hkv, width, H * D),
      v: rows(Tk, Hkv, width, (H + Hkv) * D),
      o: query,
      ...gradients,
    };
  }
  return { q: query, k: key, v: key, o: query, ...gradients };
}

/**
 * @param {Spec["strides"]} given
 * @returns {Partial<Record<Strided, Required<Strides>>>}
 */
function fullStrides(given = {}) {
  knownKeys("strides", given, STRIDED);
  /** @type {Partial<Record<Strided, Required<Strides>>>} */
  const full = {};
  for (const [tensor, strides] of Object.entries(given)) {
    if (strides === undefined) continue;
    const what = `strides.${tensor}`;
    const { offset = 0, batch, row, head } = knownKeys(what, strides, STRIDES);
    for (const [name, value] of Object.entries({ offset, batch, row, head })) {
      if (!Number.isInteger(value) || value < 0) {
        throw new SpecError(`strides.${tensor}.${name}=${shown(value)}: elements, 0 and up`);
      }
    }
    full[/** @type {Strided} */ (tensor)] = { offset, batch, row, head };
  }
  return full;
}
