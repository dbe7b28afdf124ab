// @ts-check
/** Runs attention on tensors in program order, although compiling takes its time. */
import { AttentionError, createAttention, SpecError } from "../attention/index.js";
import { poolOf } from "./buffer-pool.js";
import { GpuTensor } from "./gpu-tensor.js";
import { OperationCache } from "./operation-cache.js";

/**
 * @typedef {import("../attention/index.js").Spec} Spec
 * @typedef {import("../attention/index.js").Step} Step
 * @typedef {import("./gpu-tensor.js").Submitted} Submitted
 * @typedef {Record<string, GpuTensor>} Tensors by binding
 */

/** What callers of ops.js know these bindings as. @type {Record<string, string>} */
const CALLED = { o: "ctx", do: "dctx" };

export class Dispatcher {
  #device;
  #attention;
  #operations;
  #destroyed = false;

  /**
   * @param {GPUDevice} device
   * @param {Parameters<typeof createAttention>[1]} [options]
   */
  constructor(device, options) {
    this.#device = device;
    this.#attention = createAttention(device, options);
    this.#operations = new OperationCache(this.#attention);
  }

  /**
   * Makes the outputs, and has them written as soon as the kernel and the inputs are ready.
   * @template {string} Name
   * @param {Spec} spec
   * @param {string} kernel
   * @param {Tensors} inputs
   * @param {Record<Name, readonly number[]>} shapes of the outputs, by binding
   * @returns {Record<Name, GpuTensor>}
   * @throws {SpecError} a wrong value, or a tensor that does not fit it
   * @throws {import("../attention/index.js").Unsupported} no kernel or no limit for it
   */
  run(spec, kernel, inputs, shapes) {
    if (this.#destroyed) {
      throw new SpecError("these ops were destroyed; createOps(device) makes new ones");
    }
    const { buffers } = this.#attention.plan(spec, { kernel });
    checkInputs(this.#device, inputs, buffers);
    /** @type {(submitted: Promise<Submitted>) => void} */
    let submit = () => {};
    /** @type {Promise<Submitted>} */
    const submitted = new Promise((resolve) => {
      submit = resolve;
    });
    const outputs = /** @type {Record<Name, GpuTensor>} */ ({});
    for (const name of /** @type {Name[]} */ (Object.keys(shapes))) {
      outputs[name] = new GpuTensor(poolOf(this.#device), shapes[name], submitted);
    }
    submit(this.#submit(spec, kernel, inputs, outputs));
    return outputs;
  }

  /** Bytes that the operations keep for themselves: uniforms, and delta of backwards. */
  get operationBytes() {
    return Object.values(this.#attention.allocated()).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Frees the operations; work that was asked for before is finished. */
  destroy() {
    this.#destroyed = true;
    this.#operations.destroy();
  }

  /**
   * @param {Spec} spec
   * @param {string} kernel
   * @param {Tensors} inputs
   * @param {Tensors} outputs
   * @returns {Promise<Submitted>}
   */
  async #submit(spec, kernel, inputs, outputs) {
    // Held before the first await, so that the caller may destroy any of them at once.
    const held = Object.values(inputs).map((tensor) => tensor.hold());
    const all = [...held, ...Object.values(outputs).map((tensor) => tensor.hold())];
    const names = [...Object.keys(inputs), ...Object.keys(outputs)];
    const bound = Object.fromEntries(names.map((name, n) => [name, all[n].buffer]));
    try {
      const inputsWritten = Promise.all(held.map(({ written }) => written));
      inputsWritten.catch(() => {}); // awaited below, unless compiling fails before
      return await this.#operations.use(spec, kernel, async (steps) => {
        const before = await inputsWritten;
        const checked = check(before, submitSteps(this.#device, steps, bound));
        checked.catch(() => {}); // told by download
        return { checked };
      });
    } finally {
      for (const { release } of all) release();
    }
  }
}

/**
 * A submit for each step: a driver may end one that takes too long.
 * @param {GPUDevice} device
 * @param {readonly Step[]} steps
 * @param {Record<string, GPUBuffer>} buffers
 * @returns {Promise<GPUError | null>}
 */
function submitSteps(device, steps, buffers) {
  device.pushErrorScope("validation");
  for (const step of steps) {
    const encoder = device.createCommandEncoder();
    step.encode(encoder, buffers);
    device.queue.submit([encoder.finish()]);
  }
  return device.popErrorScope();
}

/**
 * The first thing that went wrong: what the inputs suffered explains what came of it.
 * @param {readonly Submitted[]} before
 * @param {Promise<GPUError | null>} scope
 */
async function check(before, scope) {
  for (const { checked } of before) await checked;
  const error = await scope.catch(() => null); // a lost device; whoever reads is told
  if (error !== null) throw new AttentionError(`GPU error: ${error.message}`);
}

/**
 * @param {GPUDevice} device
 * @param {Tensors} inputs
 * @param {Readonly<Record<string, number>>} bytes needed, by binding
 */
function checkInputs(device, inputs, bytes) {
  for (const [binding, tensor] of Object.entries(inputs)) {
    const name = CALLED[binding] ?? binding;
    if (!(tensor instanceof GpuTensor)) {
      throw new SpecError(`${name} is no GpuTensor; GpuTensor.fromData(device, data) makes one`);
    }
    if (tensor.destroyed) {
      throw new SpecError(`${name} was destroyed; destroy it after its last use`);
    }
    if (tensor.device !== device) {
      throw new SpecError(`${name} belongs to another device than these ops`);
    }
    if (tensor.bytes !== bytes[binding]) {
      throw new SpecError(
        `${name} has ${tensor.length} elements, [${tensor.shape.join(", ")}]; ` +
          `these sizes need ${bytes[binding] / 4}`,
      );
    }
  }
}
