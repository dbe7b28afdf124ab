// @ts-check
/** Steps of a model that stands ready: submits its programs, waits between them, reads the loss. */
import { flopsPerStep } from "./config.js";
import { Schedule } from "./optimizer.js";
import { parameters } from "./parameters.js";

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./memory.js").Memory} Memory
 * @typedef {import("./program.js").Program} Program
 * @typedef {{tokens: Uint32Array<ArrayBuffer>, targets: Uint32Array<ArrayBuffer>}} Batch
 *
 * @typedef {object} StepOptions
 * @property {AbortSignal} [signal] an aborted step has changed no weight, and may be tried again
 * @property {(done: number) => void} [onProgress] share of the step that is done, 0 to 1
 */

/** Operations of the first submits: some tenths of a second on a software adapter. */
const FIRST_WORK = 5e8;

/** What one submit should take: longer ones freeze other drawing and delay a stop. */
const SUBMIT_MS = 150;

// Values of GPUBufferUsage and GPUMapMode; the globals do not exist where this is only read.
const MAP_READ_COPY_DST = 0x1 | 0x8;
const READ = 0x1;

export class Trainer {
  #device;
  #memory;
  #gradient;
  #update;
  #data;
  #schedule;
  #work = FIRST_WORK;
  #busy = false;
  #destroyed = false;

  /**
   * @param {GPUDevice} device
   * @param {Config} config
   * @param {Memory} memory
   * @param {Record<"gradient" | "update", Program>} programs
   * @param {(step: number) => Batch} data the batch of a step, counted from 0
   */
  constructor(device, config, memory, { gradient, update }, data) {
    this.#device = device;
    this.#memory = memory;
    this.#gradient = gradient;
    this.#update = update;
    this.#data = data;
    this.#schedule = new Schedule(config.rate);
    this.config = config;
    /** Finished steps. */
    this.steps = 0;
    /** Bytes that the trainer allocated, without those of the attention. */
    this.sizeBytes = memory.sizeBytes + gradient.sizeBytes + update.sizeBytes;
    /** Floating-point operations of a step, about. */
    this.flopsPerStep = flopsPerStep(config);
  }

  /**
   * One step; several submits if the model is large.
   *
   * It ends only if the device answers: race it against a deadline and `device.lost` (watch.js).
   * @param {StepOptions} [options]
   * @returns {Promise<number>} the loss of the batch, before the weights changed
   * @throws {Error} a step is still running, or the trainer was destroyed, be it during this step
   * @throws {unknown} the signal's reason, if it was aborted before the weights changed
   */
  async step({ signal, onProgress = () => {} } = {}) {
    return this.#alone(async () => {
      const { queue } = this.#device;
      const { tokens, targets } = this.#data(this.steps);
      queue.writeBuffer(this.#memory.tensor("tokens").buffer, 0, tokens);
      queue.writeBuffer(this.#memory.tensor("targets").buffer, 0, targets);
      await this.#run(this.#gradient, (share) => onProgress(0.95 * share), signal);
      this.#mayGoOn(signal);
      // From here on the step is finished whatever happens: half an update would be no model.
      queue.writeBuffer(this.#memory.tensor("update").buffer, 0, this.#schedule.next());
      await this.#run(this.#update, (share) => onProgress(0.95 + 0.05 * share));
      const [loss] = await this.#read(this.#memory.tensor("loss"));
      this.steps++;
      return loss;
    });
  }

  /**
   * A parameter as it is now.
   * @param {string} name as in parameters.js, such as "h0.q.weight"
   * @param {"weight" | "gradient"} [what] the gradient is that of the last step
   * @returns {Promise<Float32Array>} in C order
   * @throws {Error} as of step
   */
  async download(name, what = "weight") {
    const place = this.#memory.parameter(what === "weight" ? "W" : "G", name);
    return this.#alone(() => this.#read(place));
  }

  /** Names of all parameters, in order. */
  get names() {
    return parameters(this.config).map(({ name }) => name);
  }

  /** Frees everything that the trainer allocated; a step that is running ends with an error. */
  destroy() {
    this.#destroyed = true;
    this.#gradient.destroy();
    this.#update.destroy();
    this.#memory.destroy();
  }

  /**
   * @param {Program} program
   * @param {(share: number) => void} onProgress
   * @param {AbortSignal} [signal]
   */
  async #run(program, onProgress, signal) {
    const { queue } = this.#device;
    const runs = program.runs(this.#work);
    const total = runs.reduce((sum, { work }) => sum + work, 0);
    let done = 0;
    for (const { work, encode } of runs) {
      this.#mayGoOn(signal);
      const began = performance.now();
      const encoder = this.#device.createCommandEncoder();
      encode(encoder);
      queue.submit([encoder.finish()]);
      if (runs.length > 1) {
        await queue.onSubmittedWorkDone();
        this.#mayGoOn(signal);
        // A little at a time, and never below the start: some browsers answer on a slow poll.
        const factor = SUBMIT_MS / (performance.now() - began);
        const wanted = work * Math.min(4, Math.max(0.25, factor));
        this.#work = Math.max(FIRST_WORK, wanted);
      }
      done += work;
      onProgress(done / total);
    }
  }

  /** @param {{buffer: GPUBuffer, offset?: number, size: number}} binding */
  async #read({ buffer, offset = 0, size }) {
    this.#mayGoOn();
    const staging = this.#device.createBuffer({ size, usage: MAP_READ_COPY_DST });
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(READ);
      this.#mayGoOn(); // or the copy was made of a freed buffer
      return new Float32Array(staging.getMappedRange().slice(0));
    } finally {
      staging.destroy();
    }
  }

  /**
   * To be asked before anything is submitted and after every wait: the caller may have stopped the
   * step or freed its buffers in the meantime.
   * @param {AbortSignal} [signal]
   */
  #mayGoOn(signal) {
    signal?.throwIfAborted();
    if (this.#destroyed) throw new Error("the trainer was destroyed");
  }

  /**
   * Steps share every buffer, so one thing happens at a time.
   * @template T
   * @param {() => Promise<T>} work
   */
  async #alone(work) {
    this.#mayGoOn();
    if (this.#busy) throw new Error("a step is still running; await it first");
    this.#busy = true;
    try {
      return await work();
    } finally {
      this.#busy = false;
    }
  }
}
