// @ts-check
import { librarySpec } from "./case-spec.js";

/** @typedef {import("./attention/index.js").Attention} Attention */
/** @typedef {import("./attention/index.js").Operation} Operation */
/** @typedef {import("./runner.js").Spec} Spec */

/**
 * What a job runs; one of somebody else's hands on what its buffers hold beside the outputs.
 *
 * @typedef {Operation & {poison?: (pass: number, word: number) => void}} JobOperation
 */

/**
 * What a job runs, the operation that it is named after last: the library's kernels, or one that
 * somebody brought along.
 *
 * @param {GPUDevice} device
 * @param {Attention} attention
 * @param {Pick<import("./transport.js").Job, "spec" | "kernel" | "want" | "own"> &
 *   Partial<Pick<import("./transport.js").Job, "trace" | "shaders">>} job
 * @returns {Promise<JobOperation[]>}
 */
export async function operationsOfJob(device, attention, { own, trace, ...job }) {
  if (!own) return operationsOf(attention, job.spec, job.kernel, Boolean(trace));
  const { ownOperations } = await import("./own/index.js"); // it brings a parser of WGSL
  return ownOperations(device, attention, { own, ...job });
}

/**
 * What a kernel of the library needs, itself last. A backward needs the o and lse of a forward:
 * that of its own family.
 *
 * @param {Attention} attention
 * @param {Spec} job  its case
 * @param {string} kernel
 * @param {boolean} [trace] kernels that can tell their tiles do
 * @returns {Promise<Operation[]>}
 */
export async function operationsOf(attention, job, kernel, trace = false) {
  const spec = librarySpec(job);
  if (spec.op !== "backward") return [await attention.prepare(spec, { kernel, trace })];
  const { family } = attention.plan(spec, { kernel });
  return Promise.all([
    attention.prepare({ ...spec, op: "forward" }, { kernel: family, trace }),
    attention.prepare(spec, { kernel, trace }),
  ]);
}
