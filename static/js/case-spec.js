// @ts-check

/** @typedef {import("./runner.js").Spec} Spec */
/** @typedef {import("./attention/index.js").Spec} LibrarySpec */

/**
 * A case as the library is asked for it, which refuses words that it does not know: without what
 * makes the inputs.
 *
 * @param {Spec} spec
 * @returns {LibrarySpec}
 */
export function librarySpec({ dist: _, seed: __, ...spec }) {
  return spec;
}
