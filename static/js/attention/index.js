// @ts-check
/**
 * Attention for WebGPU: FlashAttention-2 on the caller's device, buffers and command encoder.
 *
 *     const fa = createAttention(device);
 *     const op = await fa.prepare({ B: 1, H: 4, Tq: 256, D: 64 });
 *     op.encode(encoder, { q, k, v, o, lse });
 *     const back = await fa.prepare({ B: 1, H: 4, Tq: 256, D: 64, op: "backward" });
 *     back.encode(encoder, { q, k, v, o, lse, do: dO, dq, dk, dv });
 *
 * No global state, no build step; shaders are fetched from static/shaders/ beside this folder.
 */
import { Unsupported } from "./errors.js";
import { factsOf, withoutSubgroups } from "./facts.js";
import { withTelling } from "./instrument.js";
import { Memory } from "./memory.js";
import { createOperation } from "./operation.js";
import { composePart, partOf } from "./parts.js";
import { digest, Pipelines } from "./pipelines.js";
import { buildPlan } from "./plan.js";
import { SHADER_BASE, ShaderSources } from "./shader-sources.js";
import { subgroupsAsTold } from "./subgroups.js";
import { checkTuned } from "./tuned.js";

export { diagnose } from "./diagnose.js";
export { AttentionError, CompileError, ComposeError, SpecError, Unsupported } from "./errors.js";
export { isSoftware, usefulFeatures } from "./facts.js";
export { DEFAULT_LIMITS, requiredLimits } from "./limits.js";
export { checkTuned } from "./tuned.js";

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {import("./types.js").PlanOptions} PlanOptions
 * @typedef {import("./types.js").Operation} Operation
 * @typedef {import("./types.js").Step} Step
 * @typedef {import("./types.js").Buffers} Buffers
 * @typedef {import("./types.js").Strides} Strides
 * @typedef {import("./types.js").Limits} Limits
 * @typedef {import("./types.js").Described} Described
 * @typedef {import("./types.js").TunedTable} TunedTable
 * @typedef {import("./types.js").Attention} Attention
 */

/**
 * Attention on a device. Nothing is fetched or compiled before `prepare`.
 * @param {GPUDevice} device with any limits and features; stays the caller's
 * @param {object} [options]
 * @param {URL} [options.shaderBase] folder of the .wgsl files
 * @param {Readonly<Record<string, string>>} [options.shaders] texts by path under that folder, used
 *   instead of fetching
 * @param {TunedTable} [options.tuned] tiles measured on this adapter, as `fa2 tune` writes them
 * @returns {Attention}
 * @throws {import("./errors.js").SpecError} `tuned` names what this library does not have
 */
export function createAttention(device, options = {}) {
  const { shaderBase = SHADER_BASE, shaders = {}, tuned = {} } = options;
  checkTuned(tuned);
  let facts = factsOf(device);
  const sources = new ShaderSources(shaderBase, shaders);
  const pipelines = new Pipelines(device);
  const memory = new Memory(device);
  /** @type {Set<Operation>} */
  const operations = new Set();
  /** @type {Promise<boolean> | null} */
  let probe = null;

  /** A plan that uses subgroups only if the device was seen to have them as it says. */
  const proven = async (/** @type {Spec} */ spec, /** @type {PlanOptions} */ options = {}) => {
    const plan = buildPlan(spec, facts, options, tuned);
    const named = plan.passes.flatMap(({ enable }) => enable);
    if (!named.some((extension) => extension.includes("subgroup"))) return plan;
    probe ??= subgroupsAsTold(device, sources, facts);
    if (await probe) return plan;
    facts = withoutSubgroups(facts);
    return buildPlan(spec, facts, options, tuned);
  };

  return {
    plan: (spec, options) => buildPlan(spec, facts, options, tuned),

    prepare: async (spec, options) => {
      const found = await proven(spec, options);
      const trace = options?.trace ?? false;
      const most = facts.limits.maxStorageBuffersPerShaderStage;
      const parts = await Promise.all(
        found.passes.map((pass) => partOf(pass, sources, { trace, most })),
      );
      const plan = withTelling(found, parts);
      const compiled = await Promise.all(
        parts.map((part) => pipelines.get(part.pass, composePart(part))),
      );
      const texts = compiled.map(({ sha256 }) => sha256);
      const sha256 = texts.length === 1 ? texts[0] : await digest(texts.join("\n"));
      device.pushErrorScope("out-of-memory");
      const operation = createOperation(device, memory, plan, compiled, sha256, (op) =>
        operations.delete(op),
      );
      operations.add(operation);
      const error = await device.popErrorScope();
      if (error !== null) {
        operation.destroy();
        throw new Unsupported(
          `kernel ${plan.kernel} allocates ${plan.ownBytes} bytes itself, and this device is out ` +
            `of memory (${error.message}); split the batch`,
        );
      }
      return operation;
    },

    reload: () => sources.forget(),

    allocated: () => memory.live(),

    destroy: () => {
      for (const operation of [...operations]) operation.destroy();
    },
  };
}
