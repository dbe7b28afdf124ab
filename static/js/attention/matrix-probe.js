// @ts-check
/**
 * Whether a browser still compiles subgroup matrices as this library writes them: their WGSL is an
 * experiment of Chromium's, and may change from one version to the next.
 */
import { compose } from "./compose.js";
import { CompileError } from "./errors.js";

/** Loads, multiplies and stores such matrices, and nothing else. */
const FILE = "bench/matrix.wgsl";
const PASS = Object.freeze({
  kernel: "matrix_peak",
  file: FILE,
  bindings: [{ access: /** @type {const} */ ("write") }],
});

/** What a kernel on subgroup matrices enables. */
export const MATRIX_EXTENSION = "chromium_experimental_subgroup_matrix";

/**
 * @param {import("./shader-sources.js").ShaderSources} sources
 * @param {import("./pipelines.js").Pipelines} pipelines
 * @returns {Promise<boolean>} true too when the probe cannot be had: it has told nothing then
 */
export async function matricesCompile(sources, pipelines) {
  const texts = await sources.closure(FILE).catch(() => null);
  if (texts === null) return true;
  const enable = ["f16", "subgroups", MATRIX_EXTENSION];
  try {
    await pipelines.get(PASS, compose(FILE, {}, texts, { enable, params: null }));
    return true;
  } catch (error) {
    if (error instanceof CompileError) return false;
    throw error;
  }
}

/**
 * Whether a pass that does not compile is the browser's doing, which other kernels do without: nobody
 * named its kernel, and the probe does not compile either.
 * @param {import("./types.js").Pass} pass
 * @param {{kernel?: string, plan: import("./types.js").Plan, tuned: import("./types.js").TunedTable}} asked
 * @param {import("./shader-sources.js").ShaderSources} sources
 * @param {import("./pipelines.js").Pipelines} pipelines
 */
export async function mustDoWithout({ enable }, { kernel, plan, tuned }, sources, pipelines) {
  if (kernel === plan.kernel || tuned.strict === true) return false;
  return enable.includes(MATRIX_EXTENSION) && !(await matricesCompile(sources, pipelines));
}
