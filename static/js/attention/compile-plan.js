// @ts-check
/** From a plan to its pipelines, or to the pass whose shader does not compile. */
import { CompileError } from "./errors.js";
import { withTelling } from "./instrument.js";
import { partOf } from "./parts.js";
import { digest } from "./pipelines.js";

/**
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {import("./types.js").Pass} Pass
 * @typedef {object} CompiledPlan
 * @property {Plan} plan as its passes are bound: with the buffer that they tell their state into
 * @property {import("./pipelines.js").Compiled[]} compiled one for each pass
 * @property {string} sha256 of the composed text; of several: of their digests, a line each
 */

/**
 * @param {Plan} found
 * @param {object} library
 * @param {import("./shader-sources.js").ShaderSources} library.sources
 * @param {import("./parts.js").Compositions} library.compositions
 * @param {import("./pipelines.js").Pipelines} library.pipelines
 * @param {{trace: boolean, most: number}} options most: storage buffers that a stage may have
 * @returns {Promise<CompiledPlan | {pass: Pass, error: CompileError}>}
 * @throws {CompileError} a file cannot be had
 */
export async function compilePlan(found, { sources, compositions, pipelines }, options) {
  // A file that cannot be had is no fault of a pass or of its tile: it ends the request.
  const parts = await Promise.all(found.passes.map((pass) => partOf(pass, sources, options)));
  const compiled = await settled(found.passes, async (_, n) =>
    pipelines.get(parts[n].pass, compositions.of(parts[n])),
  );
  if ("error" in compiled) return compiled;
  const texts = compiled.all.map(({ sha256 }) => sha256);
  return {
    plan: withTelling(found, parts),
    compiled: compiled.all,
    sha256: texts.length === 1 ? texts[0] : await digest(texts.join("\n")),
  };
}

/**
 * All of it, or the first pass that fails to compile.
 * @template T
 * @param {readonly Pass[]} passes
 * @param {(pass: Pass, n: number) => Promise<T>} make
 * @returns {Promise<{all: T[]} | {pass: Pass, error: CompileError}>}
 */
async function settled(passes, make) {
  /** @type {T[]} */
  const all = [];
  const results = await Promise.allSettled(passes.map(make));
  for (const [n, result] of results.entries()) {
    if (result.status === "fulfilled") all.push(result.value);
    else if (result.reason instanceof CompileError)
      return { pass: passes[n], error: result.reason };
    else throw result.reason;
  }
  return { all };
}

/** What is told of a browser that writes matrices otherwise. @param {Pass} pass @param {string} why */
export const noMatrices = ({ kernel }, why) =>
  `this browser no longer compiles subgroup matrices as ${kernel} writes them, so kernels without ` +
  `them are taken (${why})`;

/** What is told of a tuned tile that was left out. @param {Pass} pass @param {string} why */
export const leftOut = ({ kernel, tile }, why) =>
  `a tuned tile of ${kernel} does not compile for this request and was left out ` +
  `(${Object.entries(tile).map((pair) => pair.join("="))}; ${why}); \`fa2 tune\` of this size finds another`;
