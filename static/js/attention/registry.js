// @ts-check
/**
 * The kernels that exist, as kernels.json lists them, and the question whether one of them takes
 * a request. A new kernel is a file under the shader folder and a row there.
 */
import { SpecError, Unsupported } from "./errors.js";
import registry from "./kernels.json" with { type: "json" };

/**
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./types.js").TensorName} TensorName
 * @typedef {object} Supports what a kernel takes; everything else is refused by name
 * @property {number} maxD
 * @property {string[]} dtype
 * @property {string[]} bias
 * @property {boolean} window
 * @property {boolean} softcap
 * @typedef {object} KernelRow
 * @property {string} name also the entry point
 * @property {string} family what `kernel=` may say instead of the name
 * @property {string} op
 * @property {string} file under the shader folder
 * @property {string} summary
 * @property {Supports} supports
 * @property {Partial<Record<TensorName, string>>} bindings in binding order, from 1
 * @property {Record<string, number>[]} tiles the first row whose maxD, workgroup memory and
 *   invocations fit is taken; its capital names become constants
 * @property {Record<string, string>} derived further constants, as sizes over those above
 * @property {string} invocations a size: invocations of a workgroup
 * @property {Record<string, string>} workgroupMemory a size in bytes for every array there
 * @property {string} workgroups a size: workgroups of the whole grid
 * @property {string} [attnPass] the kernel that writes attn after this one
 */

// JSON types list every key of every row; the rows' shape is what the typedef says.
export const KERNELS = /** @type {readonly KernelRow[]} */ (
  /** @type {unknown} */ (registry.kernels)
);

/**
 * The kernel with that registry name.
 * @param {string} name
 */
export function kernelNamed(name) {
  const row = KERNELS.find((kernel) => kernel.name === name);
  if (row === undefined) throw new SpecError(`kernel=${name}: there is no such kernel`);
  return row;
}

/**
 * The first kernel in registry order that takes the request.
 * @param {FullSpec} spec
 * @param {string} wanted "auto", a family or a name
 * @returns {KernelRow}
 * @throws {SpecError} no kernel has that name
 * @throws {Unsupported} every kernel meant refuses; the message is the first one's reason
 */
export function chooseKernel(spec, wanted) {
  const main = KERNELS.filter((kernel) => kernel.attnPass !== undefined || kernel.op !== "attn");
  const meant = main.filter((k) => wanted === "auto" || k.family === wanted || k.name === wanted);
  if (meant.length === 0) {
    const names = [...new Set(main.flatMap((kernel) => [kernel.family, kernel.name]))];
    throw new SpecError(`kernel=${wanted}: must be one of auto, ${names.join(", ")}`);
  }
  const able = meant.find((kernel) => refusal(kernel, spec) === null);
  if (able === undefined) throw new Unsupported(refusal(meant[0], spec) ?? "");
  return able;
}

/**
 * Why a kernel does not take a request, or null.
 * @param {KernelRow} kernel
 * @param {FullSpec} spec
 * @returns {string | null}
 */
export function refusal({ name, op, supports }, spec) {
  if (op !== spec.op) return `op=${spec.op}: kernel ${name} computes ${op} only`;
  if (spec.D > supports.maxD) {
    return `D=${spec.D}: kernel ${name} takes head sizes up to ${supports.maxD}; use more, smaller heads`;
  }
  if (!supports.dtype.includes(spec.dtype)) {
    return `dtype=${spec.dtype}: kernel ${name} computes in ${supports.dtype.join(", ")}; convert the inputs`;
  }
  if (!supports.bias.includes(spec.bias)) {
    return `bias=${spec.bias}: kernel ${name} adds no such bias (it takes ${supports.bias.join(", ")}); leave it out`;
  }
  if (!supports.window && spec.window.some((w) => w !== -1)) {
    return `window=${spec.window.join(":")}: kernel ${name} has no window; leave it open (-1:-1)`;
  }
  if (!supports.softcap && spec.softcap !== 0) {
    return `softcap=${spec.softcap}: kernel ${name} caps no scores; leave it at 0 (off)`;
  }
  return null;
}
