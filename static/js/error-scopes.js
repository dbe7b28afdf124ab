// @ts-check
import { RunError } from "./run-error.js";

/**
 * Opens one error scope a kind; the function returned closes them, once, and throws what they
 * caught.
 *
 * @param {GPUDevice} device
 */
export function openErrorScopes(device) {
  const filters = /** @type {const} */ (["validation", "internal", "out-of-memory"]);
  for (const filter of filters) device.pushErrorScope(filter);
  /** @type {Promise<void> | null} */
  let closed = null;
  const close = async () => {
    const inOrderOfPopping = [...filters].reverse();
    const found = await Promise.all(inOrderOfPopping.map(() => device.popErrorScope()));
    for (const [n, error] of found.entries()) {
      if (error) throw new RunError("page", `GPU ${inOrderOfPopping[n]} error: ${error.message}`);
    }
  };
  return () => {
    closed ??= close();
    return closed;
  };
}
