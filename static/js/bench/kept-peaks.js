// @ts-check
/** The peaks of an adapter for the benchmarks of a series, measured anew when they are old. */

/** @typedef {import("./peaks.js").Peaks} Peaks */

/** A page may stay open for days, and another program may use the GPU by then, or it may throttle. */
const FRESH_MS = 5 * 60 * 1000;

export class KeptPeaks {
  /** @type {{adapter: string, peaks: Peaks, at: number} | null} */
  #kept = null;
  #now;

  /** @param {() => number} [now] milliseconds */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /**
   * @param {string} adapter its name: those of another one are not its own
   * @param {() => Promise<Peaks>} measure
   * @returns {Promise<Peaks>} of the last minutes
   */
  async of(adapter, measure) {
    const kept = this.#kept;
    if (kept?.adapter === adapter && this.#now() - kept.at < FRESH_MS) return kept.peaks;
    const peaks = await measure();
    this.#kept = { adapter, peaks, at: this.#now() };
    return peaks;
  }
}
