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
import { checkTuned } from "./check-tuned.js";
import { compilePlan, leftOut, noMatrices } from "./compile-plan.js";
import { mustBeDevice } from "./device-given.js";
import { SpecError, Unsupported } from "./errors.js";
import { factsOf, withoutMatrices, withoutSubgroups } from "./facts.js";
import { knownKeys } from "./known-keys.js";
import { mustDoWithout } from "./matrix-probe.js";
import { Memory } from "./memory.js";
import { createOperation } from "./operation.js";
import { Compositions } from "./parts.js";
import { Pipelines } from "./pipelines.js";
import { buildPlan } from "./plan.js";
import { SHADER_BASE, ShaderSources } from "./shader-sources.js";
import { subgroupsAsTold } from "./subgroups.js";
import { withoutTile } from "./tuned.js";

export { checkTuned } from "./check-tuned.js";
export { diagnose } from "./diagnose.js";
export { AttentionError, CompileError, ComposeError, SpecError, Unsupported } from "./errors.js";
export { isSoftware, usefulFeatures } from "./facts.js";
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
 * @throws {import("./errors.js").SpecError} it is no GPUDevice; an option that there is not; `tuned`
 *   names what this library does not have
 */
export function createAttention(device, options = {}) {
  mustBeDevice("createAttention", device);
  knownKeys("options", options, ["shaderBase", "shaders", "tuned"]);
  const { shaderBase = SHADER_BASE, shaders = {}, tuned = {} } = options;
  checkTuned(tuned);
  let facts = factsOf(device);
  const sources = new ShaderSources(shaderBase, shaders);
  const library = { sources, compositions: new Compositions(), pipelines: new Pipelines(device) };
  const memory = new Memory(device);
  /** @type {Set<Operation>} */
  const operations = new Set();
  let destroyed = false;
  const checkAlive = () => {
    if (destroyed) {
      throw new SpecError(
        "this attention was destroyed, and nothing can be prepared on it; createAttention makes another",
      );
    }
  };
  /** @type {Promise<boolean> | null} */
  let probe = null;

  /**
   * A plan that uses subgroups only if the device was seen to have them as it says.
   * @param {Spec} spec @param {PlanOptions} options @param {TunedTable} table
   */
  const proven = async (spec, options, table) => {
    const plan = buildPlan(spec, facts, options, table);
    const named = plan.passes.flatMap(({ enable }) => enable);
    if (!named.some((extension) => extension.includes("subgroup"))) return plan;
    probe ??= subgroupsAsTold(device, sources, facts).catch((error) => {
      probe = null; // its file could not be had; whoever asks next may find it
      throw error;
    });
    if (await probe) return plan;
    facts = withoutSubgroups(facts);
    return buildPlan(spec, facts, options, table);
  };

  /**
   * The first plan that compiles. A tuned tile holds where it was measured; at another size its
   * kernel may refuse it, which must not cost the request. Nor must an experiment of a browser's that
   * has changed, unless the kernel was asked for by its name.
   * @param {Spec} spec @param {PlanOptions} options
   */
  const compiled = async (spec, options) => {
    const { trace = false } = options ?? {}; // null is refused where the plan is made
    const most = facts.limits.maxStorageBuffersPerShaderStage;
    /** @type {string[]} */
    let warnings = [];
    for (let table = tuned; ; ) {
      const found = await proven(spec, options, table);
      const made = await compilePlan(found, library, { trace, most });
      if (!("error" in made)) {
        return warnings.length
          ? { ...made, plan: Object.freeze({ ...made.plan, warnings }) }
          : made;
      }
      const [first] = made.error.message.split("\n");
      const others = withoutTile(table, made.pass);
      if (others !== table) {
        warnings.push(leftOut(made.pass, first));
        table = others;
        continue;
      }
      // It may be this file alone that does not compile: whoever edits it has to know.
      const asked = { kernel: options.kernel, plan: found, tuned };
      if (!(await mustDoWithout(made.pass, asked, sources, library.pipelines))) throw made.error;
      facts = withoutMatrices(facts);
      warnings = [noMatrices(made.pass, first)];
      table = tuned;
    }
  };

  return {
    plan: (spec, options) => buildPlan(spec, facts, options, tuned),

    prepare: async (spec, options = {}) => {
      checkAlive();
      const { plan, compiled: pipes, sha256 } = await compiled(spec, options);
      checkAlive(); // while it compiled: nobody would free the operation
      device.pushErrorScope("out-of-memory");
      const operation = createOperation(device, memory, plan, pipes, sha256, (op) =>
        operations.delete(op),
      );
      operations.add(operation);
      // Of a lost device there is no answer; whoever waits for its work is told.
      const error = await device.popErrorScope().catch(() => null);
      if (error !== null) {
        operation.destroy();
        throw new Unsupported(
          `kernel ${plan.kernel} allocates ${plan.ownBytes} bytes itself, and this device is out ` +
            `of memory (${error.message}); split the batch`,
        );
      }
      checkAlive(); // in the meantime: the operation was freed with the others
      return operation;
    },

    reload: () => {
      sources.forget();
      library.compositions.forget();
    },

    allocated: () => memory.live(),

    destroy: () => {
      destroyed = true;
      for (const operation of [...operations]) operation.destroy();
    },
  };
}
