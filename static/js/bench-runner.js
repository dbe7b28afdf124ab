// @ts-check
/** One benchmark on this page: peaks of the adapter, a warm-up, samples by two clocks. */
import { checkClock } from "./bench/clock.js";
import { KeptPeaks } from "./bench/kept-peaks.js";
import { measurePeaks } from "./bench/peaks.js";
import { Sampler } from "./bench/sampler.js";
import { Subject } from "./bench/subject.js";
import { wallPairs } from "./bench/wall.js";
import { canTime } from "./gpu-timer.js";
import { makeInputs } from "./inputs.js";
import { asRunError, HARMLESS, RunError } from "./run-error.js";
import { neededLimits } from "./runner.js";
import { Watch } from "./watch.js";

/** @typedef {import("./runner.js").Runner} Runner */
/** @typedef {import("./bench/peaks.js").Peaks} Peaks */
/** @typedef {import("./bench/clock.js").ClockCheck} ClockCheck */
/** @typedef {import("./device.js").AdapterFacts} AdapterFacts */

/**
 * What the server asks for (SSE `bench`), once the same case has passed the judge on this page.
 *
 * @typedef {object} BenchJob
 * @property {string} bench
 * @property {string} case
 * @property {import("./runner.js").Spec} spec
 * @property {string} kernel
 * @property {import("./transport.js").Want[]} want
 * @property {number} samples
 * @property {number} deadline_ms  for each sign of life; the first one's covers what comes before
 * @property {Record<string, string>} shaders  texts that replace shader files, by path
 * @property {import("./attention/index.js").TunedTable | null} tuned  null = that of the adapter
 * @property {import("./own/types.js").Own | null} own  a kernel that is not ours
 */

/** @typedef {"prepare" | "peaks" | "warm-up" | "samples" | "wall"} BenchPhase */
/** @typedef {{phase: BenchPhase, done: number, total: number}} BenchProgress */

/**
 * What is told of a benchmark, whatever became of it (POST done). Numbers that were not measured
 * are null, lists of them empty.
 *
 * @typedef {object} BenchDone
 * @property {"ok" | "skip" | "error"} status
 * @property {string} kernel
 * @property {Record<string, number> | null} tile
 * @property {string} shader_sha256
 * @property {boolean} matrix       the kernel works on subgroup matrices
 * @property {number} scratch_bytes
 * @property {Peaks | null} peaks
 * @property {number[]} gpu_ns      of a call, one a sample
 * @property {number} calls         in a sample
 * @property {number | null} resolution_ns
 * @property {ClockCheck | null} clock  null on software adapters and without timestamps
 * @property {number[]} wall_ns     of a queued call, one a sample
 * @property {AdapterFacts | null} adapter
 * @property {string} engine
 * @property {{kind: string, message: string, file?: string, line?: number, column?: number} | null} error
 */

/** The kernel itself runs this long before it is timed; then again until the clock is steady. */
const WARM_UP_MS = { hardware: 300, software: 50 };
const WARM_UP_BATCH_NS = 5e7;
const ATTEMPTS = 8;
/** Wall time beside GPU time; of slow calls as many samples as fit into `ns`. */
const WALL = { fewest: 3, most: 10, ns: 2e9, sampleMs: 20 };
const NO_CLOCK = "this device has no timestamp queries, and its browser answers waits too late";

export class BenchRunner {
  #peaks = new KeptPeaks();
  /** The best clock that was seen on the adapter; it does not change with its devices. */
  #known = { adapter: "", bestChain: 0, rounds: 0 };

  /** @param {Runner} runner whose device, pipelines and judged inputs are used */
  constructor(runner) {
    this.runner = runner;
  }

  /**
   * Does one benchmark. Never throws: what goes wrong is told in what it returns.
   *
   * @param {BenchJob} job
   * @param {{signal: AbortSignal, onProgress: (progress: BenchProgress) => void}} hooks
   * @returns {Promise<BenchDone>}
   */
  async run(job, { signal, onProgress }) {
    const watch = new Watch(job.deadline_ms, signal);
    const alive = (/** @type {BenchProgress} */ progress) => {
      watch.restart(job.deadline_ms);
      onProgress(progress);
    };
    const done = this.#blank(job);
    const { devices } = this.runner;
    try {
      await this.#attempt(job, watch, alive, done);
    } catch (thrown) {
      // A lost device or a passed deadline also breaks promises: name the cause, not the debris.
      const error = watch.cause ?? asRunError(thrown);
      done.status = error.kind === "unsupported" ? "skip" : "error";
      done.error = { kind: error.kind, message: error.message, ...error.where };
      if (!HARMLESS.includes(error.kind)) devices.discard();
    } finally {
      watch.close();
    }
    return done;
  }

  /**
   * @param {BenchJob} job
   * @param {Watch} watch
   * @param {(progress: BenchProgress) => void} progress
   * @param {BenchDone} done  filled in as things become known, so that a failure tells them too
   */
  async #attempt(job, watch, progress, done) {
    const { devices } = this.runner;
    progress({ phase: "prepare", done: 0, total: 1 });
    done.adapter = await watch.race("looking for an adapter", devices.look());
    const asking = this.runner.tableFor(job, done.adapter);
    const { table } = await watch.race("asking for tiles", asking);
    const limits = neededLimits(job, devices.described, table);
    const held = await watch.race("opening a device", devices.acquire(limits));
    const { device, errors } = held;
    watch.device(device.lost);
    errors.length = 0;
    const inputs = this.runner.inputs.take(job.spec) ?? makeInputs(job.spec);
    const attention = this.runner.attention(device, job.shaders, table);
    const sampler = canTime(device) ? await Sampler.create(device, watch) : null;
    try {
      const name = JSON.stringify(held.adapter);
      if (this.#known.adapter !== name) this.#known = { adapter: name, bestChain: 0, rounds: 0 };
      done.peaks =
        sampler &&
        (await this.#peaks.of(name, () =>
          measurePeaks(device, sampler, watch, (done, total) =>
            progress({ phase: "peaks", done, total }),
          ),
        ));
      const creating = Subject.create(device, attention, { ...job, inputs });
      const subject = await watch.race("compiling the kernel", creating);
      try {
        const { kernel, tile, shaderSha256, scratchBytes } = subject.operation;
        done.matrix = subject.matrix;
        Object.assign(done, { kernel, tile, shader_sha256: shaderSha256 });
        done.scratch_bytes = scratchBytes;
        const expectedNs = await subject.prepare(watch);
        await warmUp(subject, expectedNs, held.adapter.fallback, watch, progress);
        if (sampler) {
          const timed = { subject, sampler, expectedNs };
          await this.#sample(timed, { job, adapter: held.adapter, watch, progress, done });
        }
        const samples = sampler ? wallSamples(expectedNs) : job.samples;
        const resolved = await wall(subject, samples, watch, progress, done);
        if (!resolved && !sampler) throw new RunError("unsupported", NO_CLOCK);
        if (errors.length) throw new RunError("page", `uncaptured GPU error: ${errors.join("; ")}`);
      } finally {
        subject.destroy();
      }
    } finally {
      sampler?.destroy();
    }
  }

  /**
   * Samples by timestamps. On hardware they are taken again until the clock was steady.
   *
   * @param {{subject: Subject, sampler: Sampler, expectedNs: number}} timed
   * @param {object} run
   * @param {BenchJob} run.job
   * @param {AdapterFacts} run.adapter
   * @param {Watch} run.watch
   * @param {(progress: BenchProgress) => void} run.progress
   * @param {BenchDone} run.done
   */
  async #sample({ subject, sampler, expectedNs }, { job, adapter, watch, progress, done }) {
    const how = await sampler.calibrate(subject, expectedNs);
    const total = job.samples;
    const onSample = (/** @type {number} */ taken) =>
      progress({ phase: "samples", done: taken, total });
    for (let attempt = 1; ; attempt++) {
      const { ns, chain } = await sampler.take(subject, total, { ...how, onSample });
      Object.assign(done, { gpu_ns: ns, calls: how.calls, resolution_ns: sampler.resolution });
      if (adapter.fallback) return;
      const known = this.#known;
      const comparable = known.rounds === sampler.rounds && known.bestChain > 0;
      const best = Math.min(sampler.bestChain, comparable ? known.bestChain : sampler.bestChain);
      this.#known = { ...known, bestChain: best, rounds: sampler.rounds };
      done.clock = checkClock(chain, best);
      if (done.clock.stable || attempt === ATTEMPTS) return;
      await warmUp(subject, how.expectedNs, false, watch, progress);
    }
  }

  /**
   * @param {BenchJob} job
   * @returns {BenchDone}
   */
  #blank({ kernel }) {
    return {
      status: "ok",
      kernel,
      tile: null,
      shader_sha256: "",
      matrix: false,
      scratch_bytes: 0,
      peaks: null,
      gpu_ns: [],
      calls: 0,
      resolution_ns: null,
      clock: null,
      wall_ns: [],
      adapter: null,
      engine: this.runner.engine,
      error: null,
    };
  }
}

/**
 * @param {Subject} subject
 * @param {number} expectedNs of a call
 * @param {boolean} software
 * @param {Watch} watch
 * @param {(progress: BenchProgress) => void} progress
 */
async function warmUp(subject, expectedNs, software, watch, progress) {
  const total = software ? WARM_UP_MS.software : WARM_UP_MS.hardware;
  const calls = Math.max(1, Math.min(1000, Math.floor(WARM_UP_BATCH_NS / expectedNs)));
  const began = performance.now();
  for (let done = 0; done < total; done = performance.now() - began) {
    progress({ phase: "warm-up", done: Math.round(done), total });
    for (let n = 0; n < calls; n++) await watch.race("warming up", Promise.resolve(subject.call()));
    await watch.race("warming up", subject.drain());
  }
}

/**
 * How many samples of wall time stand beside those of the GPU's clock.
 *
 * @param {number} expectedNs of a call
 */
function wallSamples(expectedNs) {
  return Math.max(WALL.fewest, Math.min(WALL.most, Math.ceil(WALL.ns / expectedNs)));
}

/**
 * Wall time of queued calls. Whether this browser's waits are short enough to tell it.
 *
 * @param {Subject} subject
 * @param {number} samples
 * @param {Watch} watch
 * @param {(progress: BenchProgress) => void} progress
 * @param {BenchDone} done
 */
async function wall(subject, samples, watch, progress, done) {
  progress({ phase: "wall", done: 0, total: samples });
  const found = await wallPairs([subject], {
    samples,
    sampleMs: WALL.sampleMs,
    watch,
    onSample: (taken) => progress({ phase: "wall", done: taken, total: samples }),
  });
  if (found.resolved) done.wall_ns = found.ns[0];
  return found.resolved;
}
