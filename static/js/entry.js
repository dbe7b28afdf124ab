// @ts-check
/** A line of the list of cases: what it starts from, and what is said of it. */

/** @typedef {import("./checks.js").Entry} Entry */
/** @typedef {import("./own/types.js").Own} Own */
/** @typedef {import("./runner.js").Progress} Progress */

/**
 * @param {string} what
 * @param {Progress} progress
 */
export function doing(what, { phase, done, total }) {
  return `${what} · ${phase}${total > 1 ? ` ${done} of ${total}` : ""}`;
}

/**
 * What a line has to know of a kernel that is not ours: that it is not, and what else runs it.
 *
 * @param {Own | null | undefined} own
 * @returns {Pick<Entry, "own" | "ownKernel">}
 */
export function ofOwn(own) {
  return own ? { own: own.manifest.name ?? own.name, ownKernel: own } : {};
}

/**
 * @param {string} id
 * @returns {Entry}
 */
export function entryOf(id) {
  return { case: id, run: "", state: "planned", report: null, problem: "" };
}
