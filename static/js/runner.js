// @ts-check
import { createAttention, requiredLimits } from "./attention/index.js";
import { librarySpec } from "./case-spec.js";
import { openErrorScopes } from "./error-scopes.js";
import { inputDigest, makeInputs } from "./inputs.js";
import { JobBuffers, outputLimits } from "./job-buffers.js";
import { KeptInputs } from "./kept-inputs.js";
import { storeInputs } from "./layout.js";
import { operationsOfJob } from "./operations.js";
import { ownLimits } from "./own/limits.js";
import { asRunError, HARMLESS, RunError } from "./run-error.js";
import { StepTimer } from "./step-timer.js";
import { TRACE_TENSOR, TraceBuffer, tracedBy, traceLimits } from "./trace-buffer.js";
import { Watch } from "./watch.js";

/** @typedef {import("./transport.js").Job} Job */
/** @typedef {import("./device.js").Held} Held */
/** @typedef {import("./attention/index.js").Attention} Attention */
/** @typedef {import("./operations.js").JobOperation} JobOperation */
/** @typedef {import("./attention/index.js").TunedTable} TunedTable */
/** @typedef {import("./attention/index.js").Spec} LibrarySpec */
/** @typedef {import("./inputs.js").InputSpec & Required<Omit<LibrarySpec, "strides">>} Spec */

/**
 * @typedef {object} Progress
 * @property {"inputs" | "compile" | "run" | "readback" | "upload"} phase
 * @property {number} done
 * @property {number} total
 */

/**
 * What is told of a run, whatever became of it (POST done).
 *
 * @typedef {object} Done
 * @property {"ok" | "skip" | "error"} status
 * @property {string} kernel
 * @property {Record<string, number> | null} tile
 * @property {Pick<import("./attention/index.js").Plan["passes"][number],
 *   "kernel" | "tile" | "roles">[]} passes  of the operation that the job is named after
 * @property {string[]} traced  kernels that told their tiles
 * @property {string} input_sha256
 * @property {string} shader_sha256
 * @property {number} dispatches
 * @property {number} elapsed_ns  wall time on the page, upload excluded
 * @property {number | null} compile_ns  from asking the library to its compiled pipelines
 * @property {number | null} first_result_ns  from the same moment to the end of the first pass
 * @property {number | null} gpu_ns  GPU time of the operation that the job is named after, first
 *   pass; null without timestamps and below their resolution
 * @property {import("./device.js").AdapterFacts | null} adapter
 * @property {string} engine
 * @property {string[]} warnings
 * @property {{kind: string, message: string, file?: string, line?: number, column?: number} | null} error
 */

/** @typedef {{done: Done, tensors: Map<string, Uint8Array<ArrayBuffer>>}} Result */

/**
 * Work between two looks at the clock, in the library's unit (FLOP): some tenths of a second on a
 * software adapter; a GPU could do far more, but its waits are short as well.
 */
const WORK_PER_SUBMIT = 5e8;

const UNHEARD =
  "the kernel calls dbg(), and nobody asked what it tells: the Trace section of the page shows it, " +
  "and `fa2 trace`";

/** @type {TunedTable} */
const NO_TABLE = {};

/** What a person can do about a GPU process that a runaway kernel keeps busy. */
const STUCK = " (a browser that does not answer here has to be restarted)";

/** Runs jobs on one kept device and its compiled pipelines. */
export class Runner {
  /** @type {{device: GPUDevice, tuned: TunedTable, attention: Attention} | null} */
  #library = null;
  /** Of jobs that are timed next. */
  inputs = new KeptInputs();

  /**
   * @param {object} parts
   * @param {import("./device.js").DeviceKeeper} parts.devices
   * @param {string} parts.engine  the browser, for reports
   * @param {(run: string, name: string) => Promise<ArrayBuffer>} parts.fetchInput
   * @param {import("./tuned-tables.js").TunedTables} parts.tables
   */
  constructor({ devices, engine, fetchInput, tables }) {
    this.devices = devices;
    this.engine = engine;
    this.fetchInput = fetchInput;
    this.tables = tables;
  }

  /**
   * Does one job. Never throws: what goes wrong is told in `done`.
   *
   * @param {Job} job
   * @param {{signal: AbortSignal, progress: (progress: Progress) => void}} hooks
   * @returns {Promise<Result>}
   */
  async runJob(job, { signal, progress }) {
    const started = performance.now();
    const watch = new Watch(job.deadline_ms, signal);
    /** @type {Result["tensors"]} */
    let tensors = new Map();
    const done = this.#blank(job);
    try {
      tensors = await this.#attempt(job, watch, progress, done);
    } catch (thrown) {
      // A lost device or a passed deadline also breaks promises: name the cause, not the debris.
      const error = watch.cause ?? asRunError(thrown);
      done.status = error.kind === "unsupported" ? "skip" : "error";
      done.error = { kind: error.kind, message: error.message, ...error.where };
      if (!HARMLESS.includes(error.kind)) this.devices.discard();
    } finally {
      watch.close();
    }
    done.elapsed_ns = sinceNs(started);
    return { done, tensors };
  }

  /**
   * @param {Job} job
   * @param {Watch} watch
   * @param {(progress: Progress) => void} progress
   * @param {Done} done  filled in as things become known, so that a failure tells them too
   */
  async #attempt(job, watch, progress, done) {
    const { spec } = job;
    const adapter = await watch.race(`looking for an adapter${STUCK}`, this.devices.look());
    done.adapter = adapter;
    const { table, warning } = await watch.race("asking for tiles", this.tableFor(job, adapter));
    if (warning) done.warnings.push(warning);
    const limits = neededLimits(job, this.devices.described, table);
    const held = await watch.race(`opening a device${STUCK}`, this.devices.acquire(limits));
    watch.device(held.device.lost);
    held.errors.length = 0;

    progress({ phase: "inputs", done: 0, total: 1 });
    const inputs = await this.#inputs(job, watch);
    if (job.timing) this.inputs.keep(spec, inputs);
    done.input_sha256 = await watch.race("digesting the inputs", inputDigest(inputs));

    progress({ phase: "compile", done: 0, total: 1 });
    const attention = this.attention(held.device, job.shaders, table);
    const asked = performance.now();
    const compiling = operationsOfJob(held.device, attention, job);
    const operations = await watch.race("compiling the kernel", compiling);
    done.compile_ns = sinceNs(asked);
    const main = operations[operations.length - 1];
    Object.assign(done, { kernel: main.kernel, tile: main.tile, shader_sha256: main.shaderSha256 });
    done.passes = main.plan.passes.map(({ kernel, tile, roles }) => ({ kernel, tile, roles }));
    done.traced = tracedBy(job, operations);
    done.warnings.push(...operations.flatMap(({ plan }) => plan.warnings ?? []));
    try {
      const stored = storeInputs(spec, inputs);
      const ran = await this.#dispatch(job, operations, held, watch, progress, stored, () => {
        done.first_result_ns = sinceNs(asked);
      });
      const { tensors } = ran;
      if (ran.unheard) done.warnings.push(UNHEARD);
      done.gpu_ns = ran.gpuNs;
      done.dispatches = operations.reduce((sum, { dispatches }) => sum + dispatches, 0);
      return tensors;
    } finally {
      for (const operation of operations) operation.destroy();
    }
  }

  /**
   * Both passes, each over outputs poisoned anew.
   *
   * @param {Job} job
   * @param {JobOperation[]} operations
   * @param {Held} held
   * @param {Watch} watch
   * @param {(progress: Progress) => void} progress
   * @param {ReturnType<typeof storeInputs>} stored
   * @param {() => void} onFirst  the first pass has been computed
   */
  async #dispatch(job, operations, { device, errors }, watch, progress, stored, onFirst) {
    const { queue } = device;
    const failures = openErrorScopes(device);
    /** @type {JobBuffers | null} */
    let buffers = null;
    /** @type {StepTimer | null} */
    let timer = null;
    /** @type {TraceBuffer | null} */
    let told = null;
    try {
      const head = TraceBuffer.headOf(job, operations);
      buffers = new JobBuffers(device, stored, job.want);
      if (head) {
        told = new TraceBuffer(device, job, head);
        buffers.bindings.dbg = { buffer: told.buffer };
      }
      const each = operations.map((operation) => operation.steps(WORK_PER_SUBMIT));
      const steps = each.flat();
      // The operation that the job is named after comes last.
      timer = StepTimer.of(device, each[each.length - 1].length);
      const total = steps.length * job.poison.length;
      let submitted = 0;
      for (const [pass, word] of job.poison.entries()) {
        buffers.poison(pass, word);
        for (const operation of operations) operation.poison?.(pass, word);
        told?.reset();
        for (const [n, step] of steps.entries()) {
          const encoder = device.createCommandEncoder();
          const left = steps.length - n;
          step.encode(encoder, buffers.bindings, pass === 0 ? timer?.stamps(left) : undefined);
          if (left === 1) {
            buffers.stage(encoder, pass);
            if (pass === 0) timer?.resolve(encoder);
            if (pass === 0) told?.stage(encoder);
          }
          queue.submit([encoder.finish()]);
          // Not waited for: that would cost the run what it measures.
          if (submitted === steps.length - 1) queue.onSubmittedWorkDone().then(onFirst, () => {});
          progress({ phase: "run", done: ++submitted, total });
          // The last wait is for the mapping: Firefox answers each wait only after 100 ms.
          if (submitted < total && steps.length > 1) {
            await watch.race("running the kernel", queue.onSubmittedWorkDone());
          }
        }
      }
      progress({ phase: "readback", done: 0, total: 1 });
      const checked = watch.race("checking for GPU errors", failures());
      const read = buffers.read(watch);
      read.catch(() => {}); // what the scopes caught explains it better
      await checked;
      const tensors = await read;
      if (told?.wanted) {
        tensors.set(TRACE_TENSOR, await watch.race("reading what was traced", told.read()));
      }
      const gpuNs = timer ? await watch.race("reading the timestamps", timer.read()) : null;
      if (errors.length) throw new RunError("page", `uncaptured GPU error: ${errors.join("; ")}`);
      return { tensors, gpuNs, unheard: told?.wanted === false };
    } finally {
      failures().catch(() => {});
      buffers?.destroy();
      timer?.destroy();
      told?.destroy();
    }
  }

  /**
   * @param {Job} job
   * @param {Watch} watch
   */
  async #inputs(job, watch) {
    if (job.inputs === "seed") return makeInputs(job.spec);
    const names = job.spec.op === "backward" ? ["q", "k", "v", "do"] : ["q", "k", "v"];
    if (job.spec.bias !== "none") names.push("bias");
    const fetched = names.map(async (name) => {
      const bytes = await this.fetchInput(job.run, name);
      return [name, job.spec.dtype === "f16" ? new Uint16Array(bytes) : new Float32Array(bytes)];
    });
    const entries = await watch.race("fetching the inputs", Promise.all(fetched));
    return /** @type {import("./inputs.js").Inputs} */ (Object.fromEntries(entries));
  }

  /**
   * The tuned table of a job: its own, else that of the adapter.
   *
   * @param {{tuned: TunedTable | null}} job
   * @param {import("./device.js").AdapterFacts} adapter
   */
  async tableFor({ tuned }, adapter) {
    return tuned ? { table: tuned, warning: "" } : this.tables.of(adapter);
  }

  /**
   * The library on this device. Shader texts that replace files serve one job, so what they
   * compile to is not kept.
   *
   * @param {GPUDevice} device
   * @param {Record<string, string>} shaders
   * @param {TunedTable} [tuned]
   */
  attention(device, shaders, tuned = NO_TABLE) {
    if (Object.keys(shaders).length) return createAttention(device, { shaders, tuned });
    if (this.#library?.device !== device || this.#library.tuned !== tuned) {
      this.#library = { device, tuned, attention: createAttention(device, { tuned }) };
    }
    return this.#library.attention;
  }

  /** The shader files may have changed: what runs next is made of what they are then. */
  reload() {
    this.#library?.attention.reload();
  }

  /**
   * @param {Job} job
   * @returns {Done}
   */
  #blank({ kernel, own }) {
    return {
      status: "ok",
      kernel: own?.name ?? kernel,
      tile: null,
      passes: [],
      traced: [],
      input_sha256: "",
      shader_sha256: "",
      dispatches: 0,
      elapsed_ns: 0,
      compile_ns: null,
      first_result_ns: null,
      gpu_ns: null,
      adapter: null,
      engine: this.engine,
      warnings: [],
      error: null,
    };
  }
}

/** Whole nanoseconds since a moment. @param {number} moment of performance.now() */
const sinceNs = (moment) => Math.round((performance.now() - moment) * 1e6);

/**
 * The limits of a device for this job: the kernel's needs and those of the guarded outputs.
 *
 * @param {Pick<Job, "case" | "spec" | "kernel" | "want"> & Partial<Pick<Job, "own">>} job
 * @param {import("./device.js").Described} adapter
 * @param {TunedTable} [tuned]
 */
export function neededLimits(job, adapter, tuned = {}) {
  const available = /** @type {Record<string, number>} */ (/** @type {unknown} */ (adapter.limits));
  const needed = {
    ...traceLimits(job, available),
    ...(job.own
      ? ownLimits(available)
      : requiredLimits(librarySpec(job.spec), adapter, { kernel: job.kernel, tuned })),
  };
  for (const [name, bytes] of Object.entries(outputLimits(job.want))) {
    needed[name] = Math.max(needed[name] ?? 0, bytes);
    if (needed[name] > available[name]) {
      throw new RunError(
        "unsupported",
        `${job.case} needs ${name}=${needed[name]} for an output between its guard words, ` +
          `this adapter offers ${available[name]}; use smaller sizes`,
      );
    }
  }
  return needed;
}
