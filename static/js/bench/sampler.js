// @ts-check
/**
 * Samples of one computation on a GPU: its time by timestamp queries, beside that of the clock
 * chain (clock.js).
 *
 * Each sample is a pass of the chain, then one or several calls. The chain binds a buffer that the
 * calls write, so neither overlaps the other, and samples may follow each other without a wait.
 */
import { GpuTimer, inTurn, MOST_SPANS, quantile, resolutionOf, spansOf } from "../gpu-timer.js";
import { MicroKernel } from "./microkernel.js";

/**
 * @typedef {object} Timed what can be sampled
 * @property {Encode[]} parts  one call, as passes for a submit each; most often a single one
 * @property {GPUBufferBinding} sink  a buffer that every call writes
 *
 * @typedef {(encoder: GPUCommandEncoder, timestampWrites?: GPUComputePassTimestampWrites) => void
 *   } Encode  records one compute pass
 *
 * @typedef {object} Samples
 * @property {number[]} ns     of a call, one a sample
 * @property {number[]} chain  of the clock chain beside it
 */

/** Of the chain at first, 16 steps each: 130 µs at 2 GHz and 4 cycles a step. */
const CHAIN_ROUNDS = 4096;
/** A shorter sample says little of a call: its two stamps alone cost 11 µs on an H200. */
const SHORT_NS = 2_000_000;
const CHAIN_SHORT_NS = 50_000;
/** ... or below so many steps of the timer. */
const STEPS = 20;
/** The chain shows changes of the clock by some percent. */
const CHAIN_STEPS = 100;
/** What takes so long need not be repeated to know how long it takes. */
const LONG_NS = 1e8;
/** A sample that is too short is made longer than it has to be by this much. */
const AMPLE = 2;
const MOST_CALLS = 4096;
/** Work of one submit: progress is seen and Stop is heard in between. */
const SUBMIT_NS = 2e8;

/** Times things on one device. */
export class Sampler {
  /** Nanoseconds of the timer's step, as far as it was seen. */
  resolution = Number.POSITIVE_INFINITY;
  /** The chain's shortest time so far. */
  bestChain = Number.POSITIVE_INFINITY;
  #device;
  #watch;
  #chain;

  /**
   * @param {GPUDevice} device with timestamp-query
   * @param {import("../watch.js").Watch} watch
   */
  static async create(device, watch) {
    const chain = await watch.race("compiling the clock", MicroKernel.create(device, "clock"));
    chain.setRounds(CHAIN_ROUNDS);
    return new Sampler(device, watch, chain);
  }

  /**
   * @param {GPUDevice} device
   * @param {import("../watch.js").Watch} watch
   * @param {MicroKernel} chain
   */
  constructor(device, watch, chain) {
    this.#device = device;
    this.#watch = watch;
    this.#chain = chain;
  }

  /**
   * @param {Timed} timed
   * @param {number} samples
   * @param {object} [how]
   * @param {number} [how.calls]      in a sample; 1 where a call has several parts
   * @param {number} [how.expectedNs] of a call: decides how much goes into one submit
   * @param {(done: number) => void} [how.onSample]
   * @returns {Promise<Samples>}
   */
  async take(timed, samples, { calls = 1, expectedNs = SUBMIT_NS, onSample = () => {} } = {}) {
    const width = 1 + timed.parts.length;
    const fit = Math.floor(SUBMIT_NS / (expectedNs * calls));
    const size = Math.max(1, Math.min(samples, fit, Math.floor(MOST_SPANS / width)));
    const group = this.#chain.bind(timed.sink);
    /** @type {Samples} */
    const found = { ns: [], chain: [] };
    const timer = new GpuTimer(this.#device, size * width);
    try {
      while (found.ns.length < samples) {
        const now = Math.min(size, samples - found.ns.length);
        const stamps = await this.#submit(timed, timer, group, now, calls);
        const { ns, chain } = samplesOf(stamps, width, calls);
        found.ns.push(...ns);
        found.chain.push(...chain);
        const seen = resolutionOf(stamps);
        if (seen > 0) this.resolution = Math.min(this.resolution, seen);
        this.bestChain = Math.min(this.bestChain, ...chain.filter((one) => one > 0));
        onSample(found.ns.length);
      }
    } finally {
      timer.destroy();
    }
    return found;
  }

  /**
   * How many calls make a sample that the timer resolves.
   *
   * @param {Timed} timed
   * @param {number} expectedNs of a call, about
   * @returns {Promise<{calls: number, expectedNs: number}>}
   */
  async calibrate(timed, expectedNs) {
    let calls = 1;
    for (;;) {
      const looks = expectedNs < LONG_NS ? 5 : 1;
      const { ns, chain } = await this.take(timed, looks, { calls, expectedNs });
      const call = quantile(ns, 0.5);
      const short = Math.max(SHORT_NS, STEPS * this.#step);
      if (timed.parts.length > 1 || call * calls >= short || calls === MOST_CALLS) {
        await this.#lengthenChain(timed, quantile(chain, 0.5));
        return { calls, expectedNs: call || expectedNs };
      }
      const more = Math.ceil((AMPLE * short) / Math.max(call, 1));
      calls = Math.min(MOST_CALLS, Math.max(more, 2 * calls), 64 * calls);
    }
  }

  /** Length of the chain: times of chains of one length can be compared. */
  get rounds() {
    return this.#chain.rounds;
  }

  destroy() {
    this.#chain.destroy();
  }

  /** @returns {number} 0 while nothing is known of the timer's step */
  get #step() {
    return Number.isFinite(this.resolution) ? this.resolution : 0;
  }

  /**
   * A timer that counts in large steps needs a longer chain.
   *
   * @param {Timed} timed
   * @param {number} ns
   */
  async #lengthenChain(timed, ns) {
    let chain = ns;
    while (
      chain < Math.max(CHAIN_SHORT_NS, CHAIN_STEPS * this.#step) &&
      this.#chain.rounds < 2 ** 20
    ) {
      this.#chain.setRounds(2 * this.#chain.rounds);
      this.bestChain = Number.POSITIVE_INFINITY;
      chain = quantile((await this.take(timed, 3)).chain, 0.5);
    }
  }

  /**
   * @param {Timed} timed
   * @param {GpuTimer} timer
   * @param {GPUBindGroup} group
   * @param {number} samples
   * @param {number} calls
   */
  async #submit({ parts }, timer, group, samples, calls) {
    const { queue } = this.#device;
    const width = 1 + parts.length;
    let encoder = this.#device.createCommandEncoder();
    for (let n = 0; n < samples; n++) {
      this.#chain.encode(encoder, group, 1, timer.span(n * width));
      for (const [i, encode] of parts.entries()) {
        const at = n * width + 1 + i;
        for (let call = 0; call < calls; call++) {
          const begin = call === 0;
          const end = call === calls - 1;
          encode(encoder, begin || end ? timer.span(at, { begin, end }) : undefined);
        }
        if (parts.length === 1) continue;
        queue.submit([encoder.finish()]);
        await this.#watch.race("running the kernel", queue.onSubmittedWorkDone());
        encoder = this.#device.createCommandEncoder();
      }
    }
    timer.resolve(encoder, samples * width);
    queue.submit([encoder.finish()]);
    return this.#watch.race("timing the kernel", timer.read(samples * width));
  }
}

/**
 * From stamps to samples.
 *
 * @param {BigUint64Array} stamps
 * @param {number} width spans of a sample: the chain's, then those of the parts of a call
 * @param {number} calls of a sample
 * @returns {Samples}
 */
export function samplesOf(stamps, width, calls) {
  const lengths = inTurn(spansOf(stamps)).map(({ begin, end }) => end - begin);
  /** @type {Samples} */
  const found = { ns: [], chain: [] };
  for (let n = 0; n < lengths.length; n += width) {
    const [chain, ...parts] = lengths.slice(n, n + width);
    found.chain.push(chain);
    found.ns.push(parts.reduce((sum, ns) => sum + ns, 0) / calls);
  }
  return found;
}
