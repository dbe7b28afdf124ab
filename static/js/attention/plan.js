// @ts-check
/**
 * From a request to a decision: which kernel, which tile, how many workgroups, how many bytes.
 * Pure; nothing is compiled or allocated, and what a device cannot hold is refused here, with the
 * number needed and the number offered. (compose.js goes from the decision to the text.)
 */
import { bufferBytes, checkBuffers, scratchBytes, sizesOf } from "./buffer-sizes.js";
import { Unsupported } from "./errors.js";
import { PARAMS_STRIDE } from "./params.js";
import { chooseKernel, kernelNamed } from "./registry.js";
import { evaluateSize } from "./size-expression.js";
import { completeSpec } from "./spec.js";

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").Limits} Limits
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {import("./types.js").Pass} Pass
 * @typedef {import("./types.js").PlanOptions} PlanOptions
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./registry.js").KernelRow} KernelRow
 * @typedef {import("./registry.js").Choice} Choice
 */

/**
 * Decides what runs.
 * @param {Spec} request
 * @param {Limits} limits of the device
 * @param {PlanOptions} [options]
 * @returns {Plan}
 * @throws {import("./errors.js").SpecError} the request contradicts itself
 * @throws {Unsupported} no kernel takes it, or the device's limits do not hold it
 */
export function buildPlan(request, limits, { kernel: wanted = "auto" } = {}) {
  const spec = completeSpec(request);
  const choice = chooseKernel(spec, wanted);
  const rows = rowsOf(choice, spec);
  const bound = new Set(rows.flatMap((row) => Object.keys(row.bindings)));
  const buffers = Object.fromEntries(
    Object.entries(bufferBytes(spec)).filter(([name]) => bound.has(name) || name === "qkv"),
  );
  checkBuffers(buffers, limits, (name) =>
    name === "attn" ? "leave attn out" : "request a larger limit or split the batch",
  );
  const scratch = scratchBytes(choice, spec);
  checkBuffers(scratch, limits, () => "use kernel=fa2, which keeps no such matrix");
  const passes = rows.map((row) => buildPass(row, spec, limits));
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
    params: sharedParams(spec),
  });
}

/** @param {Record<string, number>} bytes */
const total = (bytes) => Object.values(bytes).reduce((sum, n) => sum + n, 0);

/**
 * The shaders that run, in order.
 * @param {Choice} choice @param {FullSpec} spec
 * @returns {KernelRow[]}
 */
function rowsOf(choice, spec) {
  const rows = (choice.passes ?? [choice.name]).map(kernelNamed);
  if (!spec.attn) return rows;
  // A backward is given the attn of its forward, so none of its passes has to make it.
  if (spec.op === "backward") return rows.filter(({ bindings }) => bindings.attn !== "write");
  if (choice.attnPass === undefined) {
    throw new Unsupported(
      `attn=1: kernel ${choice.name} returns no attention matrix; leave attn out`,
    );
  }
  return [...rows, kernelNamed(choice.attnPass)];
}

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

/** @param {KernelRow} row @param {FullSpec} spec @param {Limits} limits @returns {Pass} */
function buildPass(row, spec, limits) {
  const { constants, workgroupBytes, invocations } = chooseTile(row, spec, limits);
  const bindings = Object.entries(row.bindings).map(([name, access]) => ({
    name: /** @type {import("./types.js").TensorName} */ (name),
    access,
  }));
  if (bindings.length > limits.maxStorageBuffersPerShaderStage) {
    throw new Unsupported(
      `kernel ${row.name} binds ${bindings.length} storage buffers, this device allows ` +
        `${limits.maxStorageBuffersPerShaderStage} (maxStorageBuffersPerShaderStage)`,
    );
  }
  const sizes = sizesOf(spec);
  const workgroups = evaluateSize(row.workgroups, { ...constants, ...sizes });
  const dimension = limits.maxComputeWorkgroupsPerDimension;
  if (workgroups > Math.min(dimension ** 2, 2 ** 31)) {
    throw new Unsupported(
      `kernel ${row.name} needs ${workgroups} workgroups, a folded grid holds ${dimension}² here; ` +
        "split the batch",
    );
  }
  return {
    kernel: row.name,
    file: row.file,
    constants: row.masked === false ? constants : { ...constants, CAUSAL: spec.causal },
    bindings,
    invocations,
    workgroupBytes,
    workgroups,
    work: evaluateSize(row.work, { ...sizes, visible_pairs: visiblePairs(spec) }),
  };
}

/**
 * The first tile row that fits the head size and the device.
 * @param {KernelRow} row @param {FullSpec} spec @param {Limits} limits
 */
function chooseTile(row, spec, limits) {
  let why = "";
  for (const tile of row.tiles) {
    if (spec.D > tile.maxD) continue;
    /** @type {Record<string, number>} */
    const names = { HEAD_DIM: spec.D, ...tile };
    for (const [name, size] of Object.entries(row.derived)) {
      names[name] = evaluateSize(size, names);
    }
    const constants = Object.fromEntries(
      Object.entries(names).filter(([name]) => /^[A-Z]/.test(name)),
    );
    /** @type {Record<string, number>} */
    const workgroupBytes = {};
    for (const [name, size] of Object.entries(row.workgroupMemory)) {
      workgroupBytes[name] = evaluateSize(size, names);
    }
    const bytes = Object.values(workgroupBytes).reduce((sum, n) => sum + n, 0);
    const invocations = evaluateSize(row.invocations, names);
    const most = Math.min(
      limits.maxComputeInvocationsPerWorkgroup,
      limits.maxComputeWorkgroupSizeX,
    );
    if (bytes <= limits.maxComputeWorkgroupStorageSize && invocations <= most) {
      return { constants, workgroupBytes, invocations };
    }
    why =
      `kernel ${row.name} with HEAD_DIM=${spec.D} needs ${bytes} bytes of workgroup memory and ` +
      `${invocations} invocations, this device offers ${limits.maxComputeWorkgroupStorageSize} and ` +
      `${most}; use kernel=baseline or a smaller head size`;
  }
  throw new Unsupported(why || `D=${spec.D}: kernel ${row.name} has no tile for this head size`);
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
