// @ts-check
/**
 * Cuts a plan's grids into runs of workgroups, each small enough for one submit, and folds each
 * run into two dimensions.
 */

import { SpecError } from "./errors.js";
import { shown } from "./shown.js";

/**
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {object} Slice workgroups first … end − 1 of a pass
 * @property {number} pass index into plan.passes
 * @property {number} first
 * @property {number} end
 * @property {number} work floating-point operations, about: alike for all workgroups of a part
 * @property {[number, number]} grid workgroups in x and y; x · y ≥ end − first
 */

/**
 * @param {Plan} plan
 * @param {number} dimension most workgroups in one dimension
 * @param {number} maxWork operations a slice may hold; a single workgroup may exceed it
 * @returns {Slice[]} in order, covering every workgroup of every pass once
 * @throws {SpecError} maxWork is not positive
 */
export function cutPlan(plan, dimension, maxWork) {
  if (typeof maxWork !== "number" || !(maxWork > 0)) {
    throw new SpecError(`maxWork=${shown(maxWork)}: must be a positive number`);
  }
  return plan.passes.flatMap(({ workgroups, work, parts }, pass) => {
    const count = Math.min(workgroups, Math.max(1, Math.ceil(work / maxWork)));
    // Every slice begins before the last workgroup ends, however much work that one alone is.
    const borders = Array.from({ length: count }, (_, n) =>
      Math.min(workgroupAt(parts, (work * n) / count), workgroups - 1),
    );
    // Where a workgroup is larger than a slice should be, several borders fall on the same one.
    const firsts = [...new Set(borders)];
    return firsts.map((first, n) => {
      const end = firsts[n + 1] ?? workgroups;
      const share = workOf(parts, end) - workOf(parts, first);
      return { pass, first, end, work: share, grid: foldGrid(end - first, dimension) };
    });
  });
}

/**
 * The workgroup before which so much work is done, the nearest one.
 * @param {Plan["passes"][number]["parts"]} parts @param {number} work less than all of it
 */
function workgroupAt(parts, work) {
  let before = 0;
  let left = work;
  for (const part of parts) {
    if (left < part.work) return before + Math.round((part.workgroups * left) / part.work);
    before += part.workgroups;
    left -= part.work;
  }
  return 0; // a pass without work is not cut
}

/** The work of all workgroups before one. @param {Plan["passes"][number]["parts"]} parts @param {number} end */
function workOf(parts, end) {
  let left = end;
  return parts.reduce((sum, part) => {
    const own = Math.min(left, part.workgroups);
    left -= own;
    return sum + (part.workgroups && (part.work * own) / part.workgroups);
  }, 0);
}

/**
 * As few rows (y) as possible, and then as few spare workgroups as possible.
 * @param {number} workgroups
 * @param {number} dimension most in one dimension
 * @returns {[number, number]}
 */
export function foldGrid(workgroups, dimension) {
  const y = Math.ceil(workgroups / dimension);
  return [Math.ceil(workgroups / y), y];
}
