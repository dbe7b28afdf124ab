// @ts-check
/** GPU time of the last steps of a job. */
import { canTime, GpuTimer, MOST_SPANS, resolutionOf, spansOf } from "./gpu-timer.js";

export class StepTimer {
  #timer;
  #steps;

  /**
   * @param {GPUDevice} device
   * @param {number} steps
   * @returns {StepTimer | null} null without timestamps, or with more steps than they can hold
   */
  static of(device, steps) {
    return canTime(device) && steps <= MOST_SPANS ? new StepTimer(device, steps) : null;
  }

  /**
   * @param {GPUDevice} device
   * @param {number} steps
   */
  constructor(device, steps) {
    this.#steps = steps;
    this.#timer = new GpuTimer(device, steps);
  }

  /**
   * What to put on a step's pass.
   *
   * @param {number} left steps from this one on
   * @returns {GPUComputePassTimestampWrites | undefined} undefined for steps that are not timed
   */
  stamps(left) {
    return left <= this.#steps ? this.#timer.span(this.#steps - left) : undefined;
  }

  /** @param {GPUCommandEncoder} encoder of the last step */
  resolve(encoder) {
    this.#timer.resolve(encoder, this.#steps);
  }

  /** @returns {Promise<number | null>} nanoseconds of all steps; null below the resolution */
  async read() {
    const stamps = await this.#timer.read(this.#steps);
    const ns = spansOf(stamps).reduce((sum, { begin, end }) => sum + end - begin, 0);
    return ns > 0 && ns >= 2 * resolutionOf(stamps) ? ns : null;
  }

  destroy() {
    this.#timer.destroy();
  }
}
