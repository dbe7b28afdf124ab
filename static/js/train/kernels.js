// @ts-check
/**
 * The kernels of training: which bindings and constants each has, how its grid follows from the
 * sizes, and the compiled pipelines.
 */
import { compose } from "../attention/compose.js";
import { Pipelines } from "../attention/pipelines.js";
import { SHADER_BASE, ShaderSources } from "../attention/shader-sources.js";
import { TRAIN_PARAMS } from "./params.js";

/**
 * @typedef {"read" | "write"} Access
 * @typedef {Readonly<Record<string, number | boolean>>} Constants
 *
 * @typedef {object} Sizes members of the uniform; see train/params.wgsl
 * @property {number} rows
 * @property {number} columns
 * @property {number} [depth]
 * @property {number} [decaying]
 *
 * @typedef {object} Kernel
 * @property {readonly (readonly [string, Access])[]} bindings from binding 1 on
 * @property {Constants} constants that no caller chooses
 * @property {readonly string[]} flags constants that the caller chooses, all bool, default false
 * @property {(sizes: Sizes) => number} workgroups
 */

/** 8 × 4 invocations with 8 × 8 elements each: 32 rows by 64 columns of the output a workgroup. */
const PRODUCT = { TX: 8, TY: 4 };
const ELEMENTS = { LANES: 64 };
const SEGMENTS = { LANES: 64, SEGMENT: 32 };
const ROWS = { ROWS: 8, LANES: 8 };
const COLUMNS = { COLUMNS: 16, LANES: 16 };

/** @type {(sizes: Sizes) => number} */
const tiles = ({ rows, columns }) =>
  Math.ceil(rows / (8 * PRODUCT.TY)) * Math.ceil(columns / (8 * PRODUCT.TX));
/** @type {(sizes: Sizes) => number} */
const elements = ({ rows, columns }) => Math.ceil((rows * columns) / ELEMENTS.LANES);
/** @type {(sizes: Sizes) => number} */
const segments = ({ rows, columns }) =>
  elements({ rows: Math.ceil(rows / SEGMENTS.SEGMENT), columns });
/** @type {(sizes: Sizes) => number} */
const someRows = ({ rows }) => Math.ceil(rows / ROWS.ROWS);
/** @type {(sizes: Sizes) => number} */
const someColumns = ({ columns }) => Math.ceil(columns / COLUMNS.COLUMNS);

/**
 * A row of the table, from a line such as "A B > Y": read bindings, then those that are written.
 * @param {string} bindings
 * @param {Constants} constants
 * @param {(sizes: Sizes) => number} workgroups
 * @param {readonly string[]} [flags]
 * @returns {Kernel}
 */
function kernel(bindings, constants, workgroups, flags = []) {
  const [read, write] = bindings.split(" > ").map((names) => names.split(" "));
  return {
    bindings: [
      ...read.map((name) => /** @type {const} */ ([name, "read"])),
      ...write.map((name) => /** @type {const} */ ([name, "write"])),
    ],
    constants,
    flags,
    workgroups,
  };
}

const TRANSPOSES = ["TRANSPOSE_A", "TRANSPOSE_B"];

/** By name, which is also the name of the file and of its entry point. */
export const KERNELS = /** @type {const} */ ({
  matmul: kernel("A B > Y", PRODUCT, tiles, [...TRANSPOSES, "ACCUMULATE"]),
  linear: kernel("A B bias > Y", PRODUCT, tiles, TRANSPOSES),
  add: kernel("A B > Y", ELEMENTS, elements),
  gelu: kernel("X > Y", ELEMENTS, elements),
  gelu_backward: kernel("X dY > dX", ELEMENTS, elements),
  embed: kernel("tokens wte wpe > X", ELEMENTS, elements),
  embed_backward: kernel("tokens dX > dwte", SEGMENTS, segments),
  position_backward: kernel("dX > dwpe", ELEMENTS, elements),
  layer_norm: kernel("X gamma beta > Y stats", ROWS, someRows),
  layer_norm_backward: kernel("X stats gamma dY > dX", ROWS, someRows, ["ACCUMULATE"]),
  layer_norm_columns: kernel("X stats dY > dgamma dbeta", COLUMNS, someColumns),
  column_sum: kernel("X > Y", COLUMNS, someColumns),
  row_mean: kernel("X > Y", ROWS, someRows),
  cross_entropy: kernel("X targets > loss dlogits", ROWS, someRows),
  adamw: kernel("update G > W M V", ELEMENTS, elements),
});

/** @typedef {keyof typeof KERNELS} KernelName */

/** @param {KernelName} name */
export const fileOf = (name) => `train/${name}.wgsl`;

/**
 * All constants of a variant of a kernel.
 * @param {KernelName} name
 * @param {readonly string[]} flags those that are true
 * @returns {Constants}
 * @throws {RangeError} the kernel has no such flag
 */
export function constantsOf(name, flags) {
  /** @type {Kernel} */
  const { constants, flags: known } = KERNELS[name];
  const unknown = flags.find((flag) => !known.includes(flag));
  if (unknown !== undefined) throw new RangeError(`kernel ${name} has no flag ${unknown}`);
  return {
    ...constants,
    ...Object.fromEntries(known.map((flag) => [flag, flags.includes(flag)])),
  };
}

/** Compiles kernels; a variant is compiled once. */
export class TrainKernels {
  #sources;
  #pipelines;

  /**
   * @param {GPUDevice} device
   * @param {object} [options]
   * @param {URL} [options.shaderBase] folder of the .wgsl files
   * @param {Readonly<Record<string, string>>} [options.shaders] texts by path under that folder,
   *   used instead of fetching
   */
  constructor(device, { shaderBase = SHADER_BASE, shaders = {} } = {}) {
    this.#sources = new ShaderSources(shaderBase, shaders);
    this.#pipelines = new Pipelines(device);
  }

  /**
   * @param {KernelName} name
   * @param {readonly string[]} flags
   * @returns {Promise<import("../attention/pipelines.js").Compiled>}
   * @throws {import("../attention/errors.js").CompileError}
   */
  async get(name, flags) {
    const file = fileOf(name);
    const bindings = KERNELS[name].bindings.map(([, access]) => ({ access }));
    const composed = compose(file, constantsOf(name, flags), await this.#sources.closure(file), {
      params: TRAIN_PARAMS,
    });
    return this.#pipelines.get({ kernel: name, file, bindings }, composed);
  }
}
