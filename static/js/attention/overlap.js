// @ts-check
/** Whether what is written has each of its elements in a place of its own. */

/** @typedef {Required<import("./types.js").Strides>} Steps */

/**
 * Why elements of a tensor may share a place, or null.
 *
 * Taken by their size, each step has to pass over all that the smaller ones reach: rows beside rows,
 * heads beside heads, batches beside batches, in any order and with any gaps. What is woven otherwise
 * (steps of 2 and 3 elements, say) is refused too, even where it would happen to meet nowhere.
 *
 * @param {string} tensor
 * @param {Steps} steps
 * @param {{batch: number, row: number, head: number}} counts
 * @param {number} D elements that lie side by side
 * @returns {string | null}
 */
export function overlap(tensor, steps, counts, D) {
  const taken = /** @type {const} */ (["batch", "row", "head"])
    .map((name) => ({ name, step: steps[name], count: counts[name] }))
    .filter(({ count }) => count > 1)
    .sort((a, b) => a.step - b.step);
  let reach = D;
  let within = "the D elements of a row";
  for (const { name, step, count } of taken) {
    if (step < reach) {
      return (
        `strides.${tensor}.${name}=${step}: ${tensor} is written, so ${count} of these must not ` +
        `overlap, and ${within} reach over ${reach} elements; give ${reach} or more`
      );
    }
    reach += step * (count - 1);
    within = `the ${count} that are strides.${tensor}.${name} apart`;
  }
  return null;
}
