// @ts-check
/** The attention library behind the interface that a trainer wants. */
import { attentionSpec } from "./config.js";

/**
 * @param {import("../attention/index.js").Attention} library of the trainer's device
 * @param {import("./config.js").Config} config
 * @param {string} [kernel] a family, "fa2" or "baseline"; default "auto"
 * @returns {Promise<import("./graph.js").Attention & {
 *   kernels: [forward: string, backward: string], warnings: string[], sizeBytes: number,
 *   destroy: () => void}>}
 *   warnings: what was left out since it did not compile; sizeBytes: what the library allocated
 *   for it; destroy it after the trainer
 * @throws {import("../attention/index.js").AttentionError} refused, or it does not compile
 */
export async function prepareAttention(library, config, kernel = "auto") {
  const spec = attentionSpec(config);
  const forward = await library.prepare({ ...spec, op: "forward" }, { kernel });
  const backward = await library.prepare({ ...spec, op: "backward" }, { kernel }).catch((error) => {
    forward.destroy();
    throw error;
  });
  return {
    forward: (encoder, buffers) => forward.encode(encoder, buffers),
    backward: (encoder, buffers) => backward.encode(encoder, buffers),
    kernels: [forward.kernel, backward.kernel],
    warnings: [forward, backward].flatMap(({ plan }) => plan.warnings ?? []),
    sizeBytes: forward.plan.ownBytes + backward.plan.ownBytes,
    destroy: () => {
      forward.destroy();
      backward.destroy();
    },
  };
}
