// @ts-check
/** Whether a GPU ran at its clock while something was timed. */
import { quantile } from "../gpu-timer.js";

/**
 * A GPU that had nothing to do runs at a fraction of its clock, and needs a while to come back:
 * what is timed until then is 2 to 6 times too slow. A chain of dependent operations, timed
 * beside every sample, tells: it must be as fast as it has ever been here, and steady.
 *
 * @typedef {object} ClockCheck
 * @property {boolean} stable
 * @property {number} ns      median time of the chain beside the samples
 * @property {number} best_ns its shortest time on this adapter
 * @property {number} spread  between its 20th and 80th percentile, as a share of the median
 */

/** A GPU may lower its clock under load by this much: it then does so for everybody. */
const SLOWER = 0.1;
const SPREAD = 0.03;

/**
 * @param {readonly number[]} chain nanoseconds of the chain, beside each sample
 * @param {number} bestNs
 * @returns {ClockCheck}
 */
export function checkClock(chain, bestNs) {
  const ns = quantile(chain, 0.5);
  const spread = (quantile(chain, 0.8) - quantile(chain, 0.2)) / ns;
  const best = Math.min(bestNs, ...chain);
  return { stable: ns <= best * (1 + SLOWER) && spread <= SPREAD, ns, best_ns: best, spread };
}
