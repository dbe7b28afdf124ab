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
 * @property {number} work floating-point operations, about: an equal share of the pass
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
  return plan.passes.flatMap(({ workgroups, work }, pass) => {
    const parts = Math.min(workgroups, Math.max(1, Math.ceil(work / maxWork)));
    return Array.from({ length: parts }, (_, n) => {
      const first = Math.floor((workgroups * n) / parts);
      const end = Math.floor((workgroups * (n + 1)) / parts);
      const share = (work * (end - first)) / workgroups;
      return { pass, first, end, work: share, grid: foldGrid(end - first, dimension) };
    });
  });
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
