// @ts-check
/**
 * What a library under comparison looks like to the page, ours included: one file each exports
 * `prepare`, which loads it, opens its device and uploads the inputs.
 */

/**
 * @typedef {object} Task what every library is asked for
 * @property {import("../../runner.js").Spec} spec
 * @property {import("../../inputs.js").Inputs} inputs  q, k, v (and do): [B, T, H, D], C order
 * @property {string} kernel                            of ours
 * @property {import("../../transport.js").Want[]} want what ours writes
 * @property {string} model                             where the case is as an ONNX model
 *
 * @typedef {object} Subject ready to compute the case any number of times
 * @property {() => Promise<void>} [compile]  what has to happen once before the first call
 * @property {() => void | Promise<void>} call  queues one computation; a promise is awaited
 * @property {() => Promise<unknown>} drain   resolves when everything queued is computed
 * @property {() => Promise<Record<string, ArrayBufferView<ArrayBuffer>>>} read  the last call's
 *   outputs by name: o and, of a backward, dq, dk, dv; in the order of the inputs
 * @property {() => void} dispose
 * @property {string} [name]      of the kernel that was chosen
 * @property {string[]} [notes]   what a reader of its numbers has to know
 *
 * @typedef {(task: Task, devices: Devices) => Promise<Subject>} Prepare
 */

/**
 * The devices that a library opens, seen from outside: libraries ask the browser by themselves, say
 * nothing of GPU errors, and wait for ever when a device is lost.
 */
export class Devices {
  /** @type {GPUDevice[]} */
  all = [];
  /** @type {string[]} */
  errors = [];
  /** Whether an adapter does not show a feature. @type {(name: string, info: GPUAdapterInfo) => boolean} */
  hides = () => false;
  /** An adapter had features that it did not show. */
  hiding = false;
  #closing = false;
  /** @type {(error: Error) => void} */
  #fail = () => {};
  /** Rejects when one of them is lost. @type {Promise<never>} */
  lost = new Promise((_, reject) => {
    this.#fail = reject;
  });

  constructor() {
    this.lost.catch(() => {}); // it may happen while nobody waits
    const { gpu } = navigator;
    const original = gpu.requestAdapter;
    gpu.requestAdapter = async (options) => {
      const adapter = await original.call(gpu, options);
      return adapter && this.#watched(adapter);
    };
  }

  /** Destroys the devices; the browser answers requests as before. */
  close() {
    this.#closing = true;
    Reflect.deleteProperty(navigator.gpu, "requestAdapter"); // the prototype's is there again
    for (const device of this.all) device.destroy();
  }

  /** @param {GPUAdapter} adapter */
  #watched(adapter) {
    const shown = [...adapter.features].filter((name) => !this.hides(name, adapter.info));
    if (shown.length < adapter.features.size) {
      this.hiding = true;
      Object.defineProperty(adapter, "features", { value: new Set(shown) });
    }
    const original = adapter.requestDevice;
    adapter.requestDevice = async (descriptor) => {
      const device = await original.call(adapter, descriptor);
      this.all.push(device);
      device.addEventListener("uncapturederror", (event) => {
        this.errors.push(/** @type {GPUUncapturedErrorEvent} */ (event).error.message);
      });
      device.lost.then(({ message }) => {
        if (!this.#closing) this.#fail(new Error(`its GPU device was lost: ${message}`));
      });
      return device;
    };
    return adapter;
  }
}

/** A library does not do a case; the message says why. */
export class Refusal extends Error {}

/**
 * The elements as numbers of the case's type.
 *
 * @param {import("../../inputs.js").Tensor} tensor
 * @returns {any} Float32Array or Float16Array, which not every browser and no declaration has
 */
export function numbers(tensor) {
  if (tensor instanceof Float32Array) return tensor;
  const { Float16Array } = /** @type {any} */ (globalThis);
  if (!Float16Array) throw new Refusal("this browser has no Float16Array for its f16 tensors");
  return new Float16Array(tensor.buffer, tensor.byteOffset, tensor.length);
}
