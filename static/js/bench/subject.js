// @ts-check
/** The operation that a case names, on buffers of its own, ready to be run any number of times. */
import { JobBuffers } from "../job-buffers.js";
import { storeInputs } from "../layout.js";
import { operationsOfJob } from "../operations.js";

/** @typedef {import("../runner.js").Spec} Spec */
/** @typedef {import("../attention/index.js").Attention} Attention */
/** @typedef {import("../attention/index.js").Step} Step */

/** Work of the first look at the speed, in the library's unit; then four times as much, and so on. */
const FIRST_WORK = 5e8;
/** Such a look lasts as long as this, or is all of the operation. */
const LOOK_MS = 50;
/** What takes longer is submitted in parts: the page stays alive, and a driver's watchdog quiet. */
const PART_MS = 1000;

export class Subject {
  /** One call, as passes for a submit each. @type {import("./sampler.js").Encode[]} */
  parts;
  #device;
  #operations;
  #buffers;

  /**
   * @param {GPUDevice} device
   * @param {Attention} attention
   * @param {object} what
   * @param {Spec} what.spec
   * @param {string} what.kernel
   * @param {import("../inputs.js").Inputs} what.inputs
   * @param {import("../transport.js").Want[]} what.want
   * @param {import("../own/types.js").Own | null} [what.own] a kernel that is not ours
   * @param {Record<string, string>} [what.shaders] edited files
   */
  static async create(device, attention, { inputs, own = null, ...job }) {
    const operations = await operationsOfJob(device, attention, { own, ...job });
    const stored = storeInputs(job.spec, inputs);
    return new Subject(device, operations, new JobBuffers(device, stored, job.want));
  }

  /**
   * @param {GPUDevice} device
   * @param {import("../attention/index.js").Operation[]} operations  the timed one last
   * @param {JobBuffers} buffers
   */
  constructor(device, operations, buffers) {
    this.#device = device;
    this.#operations = operations;
    this.#buffers = buffers;
    this.operation = operations[operations.length - 1];
    /** What the kernels' bindings refer to. */
    this.bindings = buffers.bindings;
    this.parts = [(encoder, stamps) => this.encode(encoder, stamps)];
    /** A buffer that every call writes. */
    this.sink = /** @type {GPUBufferBinding} */ (this.bindings[this.bindings.dq ? "dq" : "o"]);
  }

  /** Needs a subgroup matrix: its peak is another one. */
  get matrix() {
    const enabled = this.operation.plan.passes.flatMap(({ enable }) => enable);
    return enabled.includes("chromium_experimental_subgroup_matrix");
  }

  /**
   * Runs what the operation needs to have run before it (a backward: its forward), and learns how
   * long a call takes. A call that takes long is then made of several parts.
   *
   * @param {import("../watch.js").Watch} watch
   * @returns {Promise<number>} nanoseconds of a call, about
   */
  async prepare(watch) {
    for (const before of this.#operations.slice(0, -1)) {
      for (const step of before.steps(FIRST_WORK)) await this.#run([step], watch);
    }
    const empty = await this.#elapsed([], watch);
    const long = Math.max(LOOK_MS, 2 * empty); // Firefox answers a wait after 100 ms
    const { passes } = this.operation.plan;
    const total = passes.reduce((sum, { work }) => sum + work, 0);
    let ms = 0;
    let share = 0;
    let whole = false;
    for (let work = FIRST_WORK; !whole && ms < long; work *= 4) {
      // The largest part is the slowest, and alone tells more than what waits for its end.
      const steps = this.operation.steps(work);
      const step = steps.reduce((a, b) => (b.work > a.work ? b : a));
      await this.#run([step], watch); // what happens once is not timed
      ms = Math.max(0, (await this.#elapsed([step], watch)) - empty);
      share = step.work / total;
      whole = steps.length === passes.length;
    }
    const call = ms / share;
    if (call > PART_MS) {
      const steps = this.operation.steps((total * PART_MS) / call);
      this.parts = steps.map((step) => (encoder, stamps) => {
        step.encode(encoder, this.bindings, stamps);
      });
    }
    return Math.max(1, call * 1e6);
  }

  /**
   * One call.
   *
   * @param {GPUCommandEncoder} encoder
   * @param {GPUComputePassTimestampWrites} [timestampWrites]
   */
  encode(encoder, timestampWrites) {
    this.operation.encode(encoder, this.bindings, timestampWrites);
  }

  /** Queues one call; in parts, it waits for each. @returns {void | Promise<void>} */
  call() {
    const [first, ...others] = this.parts;
    this.#submit(first);
    if (others.length) return this.#each(others);
  }

  /** Resolves when everything queued is computed. */
  drain() {
    return this.#device.queue.onSubmittedWorkDone();
  }

  destroy() {
    for (const operation of this.#operations) operation.destroy();
    this.#buffers.destroy();
  }

  /** @param {import("./sampler.js").Encode[]} parts */
  async #each(parts) {
    for (const part of parts) {
      await this.drain();
      this.#submit(part);
    }
  }

  /** @param {import("./sampler.js").Encode} encode */
  #submit(encode) {
    const encoder = this.#device.createCommandEncoder();
    encode(encoder);
    this.#device.queue.submit([encoder.finish()]);
  }

  /**
   * Milliseconds of steps and of the wait for them.
   *
   * @param {Step[]} steps
   * @param {import("../watch.js").Watch} watch
   */
  async #elapsed(steps, watch) {
    const began = performance.now();
    await this.#run(steps, watch);
    return performance.now() - began;
  }

  /**
   * @param {Step[]} steps
   * @param {import("../watch.js").Watch} watch
   */
  async #run(steps, watch) {
    for (const step of steps) this.#submit((encoder) => step.encode(encoder, this.bindings));
    await watch.race("running the kernel", this.drain());
  }
}
