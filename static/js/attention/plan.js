// @ts-check
/**
 * From a request to a decision: which kernel, which tile, how many workgroups, how many bytes.
 * Pure; nothing is compiled or allocated, and what a device cannot hold is refused here, with the
 * number needed and the number offered. (compose.js goes from the decision to the text.)
 */
import { BINDINGS } from "./bindings.js";
import { boundBytes, callersTooLarge, sizesOf, tooFar } from "./buffer-sizes.js";
import { choose } from "./choose.js";
import { Unsupported } from "./errors.js";
import { knownKeys, mustBeFlag } from "./known-keys.js";
import { PARAMS_STRIDE } from "./params.js";
import { evaluateSize, numbersOf } from "./size-expression.js";
import { completeSpec } from "./spec.js";

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").DeviceFacts} DeviceFacts
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {import("./types.js").Pass} Pass
 * @typedef {import("./types.js").PlanOptions} PlanOptions
 * @typedef {import("./types.js").TensorName} TensorName
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./tiles.js").Fit} Fit
 */

const MOST_WORKGROUPS = 2 ** 31;

const OPTIONS = ["kernel", "trace"];

/**
 * Decides what runs.
 * @param {Spec} request
 * @param {DeviceFacts} facts of the device
 * @param {PlanOptions} [options]
 * @param {import("./types.js").TunedTable} [tuned]
 * @returns {Plan}
 * @throws {import("./errors.js").SpecError} the request contradicts itself
 * @throws {Unsupported} no kernel takes it, or the device does not hold it
 */
export function buildPlan(request, facts, options = {}, tuned = undefined) {
  const spec = completeSpec(request);
  const { kernel: wanted = "auto", trace = false } = knownKeys("options", options, OPTIONS);
  mustBeFlag("trace", trace);
  const { choice, fits, slices, scratch } = choose(spec, facts, wanted, tuned);
  const buffers = boundBytes(fits, spec);
  const why = callersTooLarge(buffers, facts.limits, spec) ?? tooFar(spec);
  if (why !== null) throw new Unsupported(why);
  const passes = fits.map((fit) => buildPass(fit, spec, slices));
  const ownBytes = total(scratch) + passes.length * PARAMS_STRIDE;
  return Object.freeze({
    kernel: choice.name,
    family: choice.family,
    tile: tileOf(passes),
    passes,
    dispatches: passes.length,
    buffers,
    scratch,
    scratchBytes: total(scratch),
    ownBytes,
    sizeBytes: total(buffers) + ownBytes,
    params: { ...sharedParams(spec), slices },
  });
}

/** @param {Record<string, number>} bytes */
const total = (bytes) => Object.values(bytes).reduce((sum, n) => sum + n, 0);

/**
 * Query rows and keys of a tile, each from the pass whose workgroups own such tiles; null for
 * kernels that work element by element.
 * @param {readonly Pass[]} passes
 */
function tileOf(passes) {
  /** @param {string} constant @param {readonly string[]} outputs */
  const sizeIn = (constant, outputs) =>
    passes.find(({ bindings }) =>
      bindings.some(({ name, access }) => access === "write" && outputs.includes(name)),
    )?.constants[constant];
  const Br = sizeIn("BR", ["o", "dq"]);
  const Bc = sizeIn("BC", ["o", "dk"]);
  return Br === undefined || Bc === undefined ? null : { Br: Number(Br), Bc: Number(Bc) };
}

/**
 * @param {Fit} fit @param {FullSpec} spec @param {number} slices
 * @returns {Pass}
 */
function buildPass({ row, ...text }, spec, slices) {
  const sizes = { ...numbersOf(text.constants), ...sizesOf(spec), slices };
  const workgroups = evaluateSize(row.workgroups, sizes);
  // Fewer than two dimensions of any device hold; the shaders count them in u32, spare ones too.
  if (workgroups > MOST_WORKGROUPS) {
    throw new Unsupported(
      `kernel ${row.name} needs ${workgroups} workgroups, kernels count up to ${MOST_WORKGROUPS}; ` +
        "split the batch",
    );
  }
  const bindings = Object.entries(row.bindings).map(([key, access]) => {
    const name = /** @type {TensorName} */ (key);
    return { name, binding: BINDINGS[name], access };
  });
  const names = { ...sizes, visible_pairs: visiblePairs(spec) };
  return {
    kernel: row.name,
    file: row.file,
    ...text,
    bindings,
    workgroups,
    work: evaluateSize(row.work, names),
    parts: (row.parts ?? [row]).map((part) => ({
      workgroups: evaluateSize(part.workgroups, names),
      work: evaluateSize(part.work, names),
    })),
  };
}

/** Query-key pairs that are visible. @param {FullSpec} spec */
export function visiblePairs({ B, H, Tq, Tk, causal, align }) {
  if (!causal) return B * H * Tq * Tk;
  const offset = align === "br" ? Tk - Tq : 0;
  // Row i sees clamp(i + offset + 1, 0, Tk) keys: none, then one more a row, then all.
  const first = Math.min(Math.max(0, -offset), Tq);
  const full = Math.min(Math.max(first, Tk - offset), Tq);
  const growing = ((full - first) * (first + full - 1)) / 2 + (full - first) * (offset + 1);
  return B * H * (growing + (Tq - full) * Tk);
}

/** Members of Params that all passes share. @param {FullSpec} spec */
function sharedParams({ B, H, Hkv, Tq, Tk, align, scale, strides }) {
  /** @type {Record<string, number>} */
  const params = { B, H, Tq, Tk, group: H / Hkv, scale };
  params.causal_offset = align === "br" ? Tk - Tq : 0;
  for (const [tensor, { offset, batch, row, head }] of Object.entries(strides)) {
    params[`${tensor}_offset`] = offset;
    params[`${tensor}_batch`] = batch;
    params[`${tensor}_row`] = row;
    params[`${tensor}_head`] = head;
  }
  return params;
}
