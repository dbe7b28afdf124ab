// @ts-check
/**
 * Attention for WebGPU: FlashAttention-2 on the caller's device, buffers and command encoder.
 *
 *     const fa = createAttention(device);
 *     const op = await fa.prepare({ B: 1, H: 4, Tq: 256, D: 64 });
 *     op.encode(encoder, { q, k, v, o, lse });
 *
 * No global state, no build step; shaders are fetched from static/shaders/ beside this folder.
 */
import { compose } from "./compose.js";
import { createOperation } from "./operation.js";
import { Pipelines } from "./pipelines.js";
import { buildPlan } from "./plan.js";
import { SHADER_BASE, ShaderSources } from "./shader-sources.js";

export { AttentionError, CompileError, ComposeError, SpecError, Unsupported } from "./errors.js";
export { DEFAULT_LIMITS, requiredLimits } from "./limits.js";

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {import("./types.js").PlanOptions} PlanOptions
 * @typedef {import("./types.js").Operation} Operation
 * @typedef {import("./types.js").Step} Step
 * @typedef {import("./types.js").Buffers} Buffers
 * @typedef {import("./types.js").Strides} Strides
 * @typedef {import("./types.js").Limits} Limits
 * @typedef {import("./types.js").Attention} Attention
 */

/**
 * Attention on a device. Nothing is fetched or compiled before `prepare`.
 * @param {GPUDevice} device with any limits and no features; stays the caller's
 * @param {object} [options]
 * @param {URL} [options.shaderBase] folder of the .wgsl files
 * @param {Readonly<Record<string, string>>} [options.shaders] texts by path under that folder, used
 *   instead of fetching
 * @returns {Attention}
 */
export function createAttention(device, { shaderBase = SHADER_BASE, shaders = {} } = {}) {
  const sources = new ShaderSources(shaderBase, shaders);
  const pipelines = new Pipelines(device);
  /** @type {Set<Operation>} */
  const operations = new Set();

  return {
    plan: (spec, options) => buildPlan(spec, device.limits, options),

    prepare: async (spec, options) => {
      const plan = buildPlan(spec, device.limits, options);
      const compiled = await Promise.all(
        plan.passes.map(async (pass) => {
          const texts = await sources.closure(pass.file);
          return pipelines.get(pass, compose(pass.file, pass.constants, texts));
        }),
      );
      const operation = createOperation(device, plan, compiled, (op) => operations.delete(op));
      operations.add(operation);
      return operation;
    },

    destroy: () => {
      for (const operation of [...operations]) operation.destroy();
    },
  };
}
