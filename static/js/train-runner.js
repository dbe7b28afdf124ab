// @ts-check
/** One training on this page: a device, a model, its steps one after the other. */
import { createAttention, DEFAULT_LIMITS, requiredLimits } from "./attention/index.js";
import { formatFlops } from "./format.js";
import { asRunError, HARMLESS, RunError } from "./run-error.js";
import { prepareAttention } from "./train/attention.js";
import { checkLimits } from "./train/memory.js";
import { attentionSpec, createTrainer, flopsPerStep } from "./train/model.js";
import { Watch } from "./watch.js";

/** @typedef {import("./train/model.js").Config} Config */
/** @typedef {import("./attention/index.js").Attention} Library */
/** @typedef {import("./attention/index.js").Limits} Limits */

/**
 * What the server asks for (SSE `train`).
 *
 * @typedef {object} TrainJob
 * @property {string} training
 * @property {string} preset
 * @property {Config} config
 * @property {"drift" | "overfit" | "bench" | "none"} gate
 * @property {string} attention  family of kernels
 * @property {string} seed
 * @property {number} steps
 * @property {boolean} one_batch
 * @property {number} deadline_ms  for each step; the first one's covers what comes before it
 * @property {number} limit_ms     what all steps may take by the measured speed
 * @property {boolean} measure     measure that speed first
 * @property {Record<string, string>} shaders  texts that replace shader files, by path
 */

/** @typedef {{phase: "prepare" | "measure" | "step", done: number, total: number}} TrainProgress */

/**
 * What is told of a training, whatever became of it (POST done).
 *
 * @typedef {object} TrainDone
 * @property {"ok" | "skip" | "error"} status
 * @property {number} attention_passes  operations of the attention library that were recorded
 * @property {string[]} kernels
 * @property {number} size_bytes  of all buffers of the model and its attention
 * @property {string[]} warnings  what was left out, and why, where it costs speed alone
 * @property {import("./device.js").AdapterFacts | null} adapter
 * @property {string} engine
 * @property {{kind: string, message: string, file?: string, line?: number, column?: number} | null} error
 */

/**
 * @typedef {object} TrainHooks
 * @property {AbortSignal} signal
 * @property {(loss: number, elapsedNs: number) => void} onStep
 * @property {(progress: TrainProgress) => void} onProgress
 */

/** The speed is measured over this time, or this many steps, whichever is over first. */
const MEASURE_MS = 100;
const MEASURE_STEPS = 10;
/** Rows of the sequences that it is measured with, and the operations that fill a batch of them. */
const MEASURE_T = 32;
const MEASURE_WORK = 1e9;

export class TrainRunner {
  /**
   * @param {import("./device.js").DeviceKeeper} devices
   * @param {string} engine  the browser, for reports
   * @param {import("./tuned-tables.js").TunedTables | null} [tables]
   */
  constructor(devices, engine, tables = null) {
    this.devices = devices;
    this.engine = engine;
    this.tables = tables;
  }

  /**
   * Does one training. Never throws: what goes wrong is told in what it returns. It ends early,
   * and well, after a loss that is no finite number: the judge has seen it.
   *
   * @param {TrainJob} job
   * @param {TrainHooks} hooks
   * @returns {Promise<TrainDone>}
   */
  async run(job, hooks) {
    const watch = new Watch(job.deadline_ms, hooks.signal);
    /** @type {TrainDone} */
    const done = {
      status: "ok",
      attention_passes: 0,
      kernels: [],
      size_bytes: 0,
      warnings: [],
      adapter: null,
      engine: this.engine,
      error: null,
    };
    try {
      await this.#attempt(job, watch, hooks, done);
    } catch (thrown) {
      // A lost device or a passed deadline also breaks promises: name the cause, not the debris.
      const error = watch.cause ?? asRunError(thrown);
      done.status = error.kind === "unsupported" ? "skip" : "error";
      done.error = { kind: error.kind, message: error.message, ...error.where };
      if (!HARMLESS.includes(error.kind)) this.devices.discard();
    } finally {
      watch.close();
    }
    return done;
  }

  /**
   * @param {TrainJob} job
   * @param {Watch} watch
   * @param {TrainHooks} hooks
   * @param {TrainDone} done  filled in as things become known, so that a failure tells them too
   */
  async #attempt(job, watch, hooks, done) {
    hooks.onProgress({ phase: "prepare", done: 0, total: 1 });
    done.adapter = await watch.race("looking for an adapter", this.devices.look());
    const { tables } = this;
    const asked = tables && (await watch.race("asking for tiles", tables.of(done.adapter)));
    if (asked?.warning) done.warnings.push(asked.warning);
    const limits = neededLimits(job, this.devices.described);
    const held = await watch.race("opening a device", this.devices.acquire(limits));
    watch.device(held.device.lost);
    held.errors.length = 0;
    const library = createAttention(held.device, { shaders: job.shaders, tuned: asked?.table });
    refuse(job, library, held.device.limits);
    try {
      if (job.measure) await measure(job, held.device, library, watch, hooks);
      const model = await watch.race("building the model", build(held.device, library, job));
      Object.assign(done, { kernels: model.kernels, size_bytes: model.sizeBytes });
      done.warnings.push(...model.warnings);
      try {
        await this.#train(job, model.trainer, held.errors, watch, hooks);
      } finally {
        done.attention_passes = model.passes();
        model.destroy();
      }
    } finally {
      library.destroy();
    }
  }

  /**
   * @param {TrainJob} job
   * @param {import("./train/trainer.js").Trainer} trainer
   * @param {string[]} errors  uncaptured ones of the device
   * @param {Watch} watch
   * @param {TrainHooks} hooks
   */
  async #train(job, trainer, errors, watch, hooks) {
    const halt = new AbortController();
    try {
      for (let n = 1; n <= job.steps; n++) {
        const began = performance.now();
        const step = trainer.step({
          signal: halt.signal,
          onProgress: (share) => hooks.onProgress({ phase: "step", done: share, total: 1 }),
        });
        const loss = await watch.race(`training step ${n} of ${job.steps}`, step);
        const elapsedNs = (performance.now() - began) * 1e6;
        if (errors.length) throw new RunError("page", `uncaptured GPU error: ${errors.join("; ")}`);
        hooks.onStep(loss, Math.round(elapsedNs));
        if (!Number.isFinite(loss)) return;
        watch.restart(job.deadline_ms);
      }
    } finally {
      halt.abort(); // a step that nobody waits for any more submits nothing more
    }
  }
}

/**
 * What this device cannot hold, before anything is built.
 *
 * @param {TrainJob} job
 * @param {Library} library
 * @param {Limits} limits
 * @throws {import("./attention/index.js").Unsupported}
 */
function refuse({ config, attention }, library, limits) {
  checkLimits(config, limits);
  for (const op of /** @type {const} */ (["forward", "backward"])) {
    library.plan({ ...attentionSpec(config), op }, { kernel: attention });
  }
}

/**
 * A model with its attention, whose operations are counted.
 *
 * @param {GPUDevice} device
 * @param {Library} library
 * @param {TrainJob} job
 */
async function build(device, library, { config, attention: kernel, seed, one_batch, shaders }) {
  const attention = await prepareAttention(library, config, kernel);
  let passes = 0;
  const options = {
    preset: config,
    seed,
    oneBatch: one_batch,
    shaders,
    attention: /** @type {import("./train/model.js").Attention} */ ({
      forward: (encoder, buffers) => {
        passes++;
        attention.forward(encoder, buffers);
      },
      backward: (encoder, buffers) => {
        passes++;
        attention.backward(encoder, buffers);
      },
    }),
  };
  const trainer = await createTrainer(device, options).catch((error) => {
    attention.destroy();
    throw error;
  });
  return {
    trainer,
    kernels: attention.kernels,
    warnings: attention.warnings,
    sizeBytes: trainer.sizeBytes + attention.sizeBytes,
    passes: () => passes,
    destroy: () => {
      trainer.destroy();
      attention.destroy();
    },
  };
}

/**
 * Steps of one block over short sequences: they run every pipeline once before anything is timed,
 * and tell how long the real steps will take.
 *
 * @param {TrainJob} job
 * @param {GPUDevice} device
 * @param {Library} library
 * @param {Watch} watch
 * @param {TrainHooks} hooks
 * @throws {RunError} unsupported: it would take too long
 */
async function measure(job, device, library, watch, hooks) {
  hooks.onProgress({ phase: "measure", done: 0, total: 1 });
  const { config, steps, limit_ms, preset } = job;
  const small = smallOf(config);
  const building = build(device, library, { ...job, config: small });
  const { trainer, destroy } = await watch.race("building a small model", building);
  try {
    await watch.race("warming up", trainer.step());
    let elapsed = 0;
    let done = 0;
    for (const began = performance.now(); elapsed < MEASURE_MS && done < MEASURE_STEPS; done++) {
      await watch.race("measuring the speed", trainer.step());
      elapsed = performance.now() - began;
    }
    const speed = (done * flopsPerStep(small)) / (elapsed / 1000);
    const work = flopsPerStep(config);
    const expected = (steps * work) / speed; // seconds
    if (expected * 1000 > limit_ms) {
      const one = `a step of preset ${preset} takes ${formatFlops(work)}`;
      throw new RunError(
        "unsupported",
        `${one}, and this adapter did ${formatFlops(speed)}/s in steps of one block: ` +
          `${steps === 1 ? "it" : `${steps} of them`} would take about ` +
          `${Number(expected.toPrecision(2))} s, more than the limit of ${limit_ms / 1000} s; ` +
          "use a smaller preset, or raise --limit",
      );
    }
  } finally {
    destroy();
  }
}

/**
 * One block of a model, over fewer and shorter sequences.
 *
 * @param {Config} config
 * @returns {Config}
 */
export function smallOf(config) {
  const one = { ...config, layers: 1, B: 1, T: Math.min(config.T, MEASURE_T) };
  const most = Math.max(1, Math.floor(MEASURE_WORK / flopsPerStep(one)));
  return { ...one, B: Math.min(config.B, most) };
}

/**
 * The limits of a device for this training: those of its attention and those of its buffers.
 *
 * @param {TrainJob} job
 * @param {import("./device.js").Described} adapter
 */
function neededLimits({ config, attention: kernel }, adapter) {
  const wanted = /** @type {Record<string, number>} */ ({});
  const atLeast = (/** @type {Record<string, number>} */ limits) => {
    for (const [name, n] of Object.entries(limits)) wanted[name] = Math.max(n, wanted[name] ?? 0);
  };
  for (const op of /** @type {const} */ (["forward", "backward"])) {
    atLeast(requiredLimits({ ...attentionSpec(config), op }, adapter, { kernel }));
  }
  try {
    checkLimits(config, DEFAULT_LIMITS);
  } catch {
    const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
    atLeast({ maxBufferSize, maxStorageBufferBindingSize });
  }
  return wanted;
}
