// @ts-check
/**
 * The kernels that exist, as kernels.json lists them, and the question whether one of them takes
 * a request. A new kernel is a file under the shader folder and a row there.
 */
import { SpecError } from "./errors.js";
import registry from "./kernels.json" with { type: "json" };
import { shownWord } from "./shown.js";

/**
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./types.js").TensorName} TensorName
 * @typedef {import("./conditions.js").Conditions} Conditions
 * @typedef {object} Supports what a kernel takes; everything else is refused by name
 * @property {number} maxD
 * @property {string[]} dtype
 * @property {string[]} bias
 * @property {boolean} window
 * @property {boolean} softcap
 * @typedef {object} Choice what `kernel=` may name: a kernel by itself, or several in a row
 * @property {string} name
 * @property {string} family what `kernel=` may say instead of the name
 * @property {"forward" | "backward"} op
 * @property {string} summary
 * @property {Supports} supports
 * @property {Conditions | Conditions[]} [unnamed] when it is taken without being named (of several
 *   conditions one must hold); by its name it always is
 * @property {string[]} [passes] names of the kernels that run, in order; default: this one alone
 * @property {string} [attnPass] of a forward: the kernel that writes attn after this one
 * @property {string} [slices] a size: into how many slices the keys are cut; default 1. `workgroups`,
 *   `work` and `scratch` may name it
 * @property {Record<string, string>} [scratch] a size in bytes for every tensor that only the
 *   passes see, over the sizes of the request and the constants of the passes
 * @typedef {Conditions & {roles?: Record<string, string>, why?: string}
 *   & Record<string, unknown>} Tile conditions, the file that plays a role if not the first that
 *   may, the figure that justifies the row, and numbers: the capital names become constants
 * @typedef {object} KernelRow one shader
 * @property {string} name also the entry point
 * @property {string} file under the shader folder
 * @property {Partial<Record<TensorName, "read" | "write">>} bindings
 * @property {boolean} [masked] whether it asks which keys a row sees; default true
 * @property {Conditions} [needs] conditions of all tiles
 * @property {string[]} [enable] WGSL extensions of the file itself
 * @property {Record<string, string[]>} [roles] for every role that the files name in a `@use`, those
 *   that can play it; the first whose conditions hold does
 * @property {Tile[]} tiles the first row whose conditions hold and whose workgroup memory and
 *   invocations the device offers is taken
 * @property {Record<string, string>} derived further constants, as sizes over those of the tile,
 *   HEAD_DIM and `group`, the query heads of a key head
 * @property {string} invocations a size: invocations of a workgroup
 * @property {Record<string, string>} workgroupMemory a size in bytes for every array there
 * @property {string} workgroups a size: workgroups of the whole grid
 * @property {string} work a size: floating-point operations of its matrix products
 * @property {{workgroups: string, work: string}[]} [parts] where the workgroups of a grid differ: runs
 *   of alike ones, in their order, which make up both
 * @typedef {Conditions & {role: string, enable?: string[],
 *   workgroupMemory?: Record<string, string>}} RoleFile a file that plays a role, where its
 *   conditions hold, and what it needs beside the kernel's own
 */

// JSON types list every key of every row; the rows' shape is what the typedefs say.
const ROWS = /** @type {readonly (Choice | KernelRow)[]} */ (
  /** @type {unknown} */ (registry.kernels)
);

/** Files that play a role, by path under the shader folder. */
export const ROLE_FILES = /** @type {Readonly<Record<string, RoleFile>>} */ (
  /** @type {unknown} */ (registry.roleFiles)
);

/** What can be chosen; the other rows are parts of these. */
export const CHOICES = /** @type {readonly Choice[]} */ (
  ROWS.filter((row) => "op" in row && ["forward", "backward"].includes(row.op))
);

/** Every shader. */
export const KERNEL_ROWS = /** @type {readonly KernelRow[]} */ (
  ROWS.filter((row) => "file" in row)
);

/**
 * The shader with that registry name.
 * @param {string} name
 * @returns {KernelRow}
 */
export function kernelNamed(name) {
  const row = KERNEL_ROWS.find((kernel) => kernel.name === name);
  if (row === undefined) throw new SpecError(`kernel=${name}: there is no such kernel`);
  return row;
}

/**
 * The choices that a word means, in order of preference.
 * @param {string} wanted "auto", a family or a name
 * @returns {readonly Choice[]} at least one
 * @throws {SpecError} nothing has that name
 */
export function choicesNamed(wanted) {
  const meant = CHOICES.filter(
    ({ family, name }) => wanted === "auto" || family === wanted || name === wanted,
  );
  if (meant.length === 0) {
    const names = [...new Set(CHOICES.flatMap(({ family, name }) => [family, name]))];
    throw new SpecError(`kernel=${shownWord(wanted)}: must be one of auto, ${names.join(", ")}`);
  }
  return meant;
}

/**
 * Why a kernel does not take a request, or null.
 * @param {{name: string, op: string, supports: Supports}} kernel
 * @param {Omit<FullSpec, "op"> & {op: string}} spec
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
