// @ts-check
/** What the page draws and says of a training: numbers only, nothing of a document. */

/** @typedef {{step: number, value: number}} Point */

/**
 * @typedef {object} Curves
 * @property {number} steps
 * @property {Point[]} page
 * @property {Point[]} twin
 * @property {Point[]} apart     |page − NumPy| / NumPy, where both are known
 * @property {boolean} compared  it is held against NumPy
 * @property {number} most       end of the axis of losses
 * @property {number | null} goal  a loss that it must end under
 * @property {number} allowed    relative difference that the drift gate allows
 * @property {number} judgedAfter  steps at the start whose difference is not judged
 * @property {Point | null} worst  largest difference that is judged
 * @property {string} summary    the drawing in a sentence
 */

// As in server/gates.py, which judges; here they are only drawn.
const ALLOWED = 0.05;
const JUDGED_AFTER = 10;
const OVERFIT_GOAL = 0.5;

/**
 * @param {{steps: number, losses: number[], twin: number[], gate: string}} training
 * @returns {Curves}
 */
export function curvesOf({ steps, losses, twin, gate }) {
  const points = (/** @type {number[]} */ values) =>
    values.map((value, n) => ({ step: n + 1, value }));
  const apart = points(
    losses.slice(0, twin.length).map((loss, n) => Math.abs(loss - twin[n]) / twin[n]),
  );
  const judged = apart.filter(({ step, value }) => step > JUDGED_AFTER && Number.isFinite(value));
  const worst = judged.reduce(
    (/** @type {Point | null} */ a, b) => (a && a.value >= b.value ? a : b),
    null,
  );
  const finite = [...losses, ...twin].filter(Number.isFinite);
  const most = Math.ceil(Math.max(1, ...finite));
  return {
    steps,
    page: points(losses),
    twin: points(twin),
    apart,
    compared: gate === "drift",
    most,
    goal: gate === "overfit" ? OVERFIT_GOAL : null,
    allowed: ALLOWED,
    judgedAfter: JUDGED_AFTER,
    worst,
    summary: summaryOf(steps, losses, worst),
  };
}

/**
 * Without the first step, which pays for what happens once.
 *
 * @param {number[]} times  milliseconds of each step
 * @returns {number | null}
 */
export function stepsPerSecond(times) {
  const counted = times.length > 1 ? times.slice(1) : times;
  const total = counted.reduce((sum, ms) => sum + ms, 0);
  return total > 0 ? (1000 * counted.length) / total : null;
}

/**
 * @param {number} steps
 * @param {number[]} losses
 * @param {Point | null} worst
 */
function summaryOf(steps, losses, worst) {
  if (!losses.length) return "Loss of each step: none yet.";
  const last = losses[losses.length - 1];
  const far = `step ${losses.length} of ${steps}`;
  const compared = worst
    ? ` Largest difference from NumPy after step ${JUDGED_AFTER}: ` +
      `${formatPercent(worst.value)} at step ${worst.step}.`
    : "";
  return `Loss ${losses[0].toFixed(4)} at step 1, ${last.toFixed(4)} at ${far}.${compared}`;
}

/** @param {number} share */
export function formatPercent(share) {
  const percent = 100 * share;
  if (percent === 0) return "0 %";
  return `${percent >= 0.001 ? Number(percent.toPrecision(3)) : percent.toExponential(1)} %`;
}
