// @ts-check

/** @typedef {import("./attention/index.js").Attention} Attention */
/** @typedef {import("./attention/index.js").Operation} Operation */
/** @typedef {import("./runner.js").Spec} Spec */

/**
 * What a job runs, the operation that it is named after last. A backward needs the o and lse of a
 * forward: that of its own family.
 *
 * @param {Attention} attention
 * @param {Spec} spec
 * @param {string} kernel
 * @param {boolean} [trace] kernels that can tell their tiles do
 * @returns {Promise<Operation[]>}
 */
export async function operationsOf(attention, spec, kernel, trace = false) {
  if (spec.op !== "backward") return [await attention.prepare(spec, { kernel, trace })];
  const { family } = attention.plan(spec, { kernel });
  return Promise.all([
    attention.prepare({ ...spec, op: "forward" }, { kernel: family, trace }),
    attention.prepare(spec, { kernel, trace }),
  ]);
}
