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
 * @returns {Promise<Operation[]>}
 */
export async function operationsOf(attention, spec, kernel) {
  if (spec.op !== "backward") return [await attention.prepare(spec, { kernel })];
  const { family } = attention.plan(spec, { kernel });
  return Promise.all([
    attention.prepare({ ...spec, op: "forward" }, { kernel: family }),
    attention.prepare(spec, { kernel }),
  ]);
}
