// @ts-check
/** Inputs that were judged, for the timing that follows: making those of a long case takes seconds. */

/** @typedef {import("./runner.js").Spec} Spec */
/** @typedef {import("./inputs.js").Inputs} Inputs */

/** Those of one case, which are handed over once. */
export class KeptInputs {
  #key = "";
  /** @type {Inputs | null} */
  #inputs = null;

  /**
   * @param {Spec} spec
   * @param {Inputs} inputs
   */
  keep(spec, inputs) {
    this.#key = JSON.stringify(spec);
    this.#inputs = inputs;
  }

  /**
   * @param {Spec} spec
   * @returns {Inputs | null} null where another case's are kept, or none
   */
  take(spec) {
    const found = this.#key === JSON.stringify(spec) ? this.#inputs : null;
    this.#inputs = null;
    return found;
  }
}
