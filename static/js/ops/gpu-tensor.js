// @ts-check
/**
 * Numbers in GPU memory that may not have been computed yet.
 *
 * An operation returns its tensors at once and submits its work when its kernel is compiled. A
 * tensor knows when that has happened, so tensors can be passed on, downloaded and destroyed in
 * program order, as if everything ran immediately.
 */
import { AttentionError, SpecError } from "../attention/index.js";
import { poolOf } from "./buffer-pool.js";

/**
 * @typedef {import("./buffer-pool.js").BufferPool} BufferPool
 *
 * @typedef {object} Submitted the work that writes a tensor is in the device's queue
 * @property {Promise<void>} checked rejects if the device reported an error for it
 *
 * @typedef {object} Hold
 * @property {GPUBuffer} buffer
 * @property {Promise<Submitted>} written rejects if the work could not be submitted
 * @property {() => void} release
 */

// Values of GPUBufferUsage and GPUMapMode; the globals do not exist where this is only read.
const STORAGE_COPY = 0x80 | 0x4 | 0x8; // STORAGE | COPY_SRC | COPY_DST
const MAP_READ_COPY_DST = 0x1 | 0x8;
const READ = 0x1;

export class GpuTensor {
  #pool;
  #buffer;
  #written;
  #holds = 0;
  #destroyed = false;

  /**
   * Uploads float32 numbers.
   * @param {GPUDevice} device
   * @param {Float32Array} data copied before this returns
   * @param {readonly number[]} [shape] default: one axis
   * @returns {GpuTensor} to be destroyed by the caller
   * @throws {SpecError} no Float32Array, an empty one, or a shape with another number of elements
   * @throws {import("../attention/index.js").Unsupported} larger than the device's buffers may be
   */
  static fromData(device, data, shape = [data?.length]) {
    if (!(data instanceof Float32Array)) {
      throw new SpecError(
        `data is ${nameOf(data)}; it must be a Float32Array: Float32Array.from(data)`,
      );
    }
    if (elementsOf(shape) !== data.length) {
      throw new SpecError(
        `shape [${shape.join(", ")}] has ${elementsOf(shape)} elements, data has ${data.length}`,
      );
    }
    const submitted = Promise.resolve({ checked: Promise.resolve() });
    const tensor = new GpuTensor(poolOf(device), shape, submitted);
    // A recycled buffer may still be in use: writes are queued behind the work that uses it.
    device.queue.writeBuffer(tensor.#buffer, 0, /** @type {Float32Array<ArrayBuffer>} */ (data));
    return tensor;
  }

  /**
   * A tensor that `written` work fills; for operations.
   * @param {BufferPool} pool
   * @param {readonly number[]} shape
   * @param {Promise<Submitted>} written
   */
  constructor(pool, shape, written) {
    const elements = elementsOf(shape);
    if (elements === 0 || !shape.every((n) => Number.isInteger(n) && n > 0)) {
      throw new SpecError(`shape [${shape.join(", ")}]: whole numbers, 1 and up`);
    }
    const { buffer, sound } = pool.take(4 * elements, STORAGE_COPY);
    this.#pool = pool;
    this.#buffer = buffer;
    this.#written = written.then(({ checked }) => {
      // Want of memory comes first: what it leads to is no explanation.
      const both = sound.then(() => checked);
      both.catch(() => {}); // told by download
      return { checked: both };
    });
    this.#written.catch(() => {}); // told by download, and by what is computed from it
    /** @type {readonly number[]} */
    this.shape = Object.freeze([...shape]);
  }

  get device() {
    return this.#pool.device;
  }

  /** Number of elements. */
  get length() {
    return elementsOf(this.shape);
  }

  /** Bytes of GPU memory. */
  get bytes() {
    return 4 * this.length;
  }

  get destroyed() {
    return this.#destroyed;
  }

  /**
   * The numbers, in C order, once they are computed.
   * @returns {Promise<Float32Array<ArrayBuffer>>}
   * @throws {SpecError} the tensor was destroyed
   * @throws {import("../attention/index.js").AttentionError} what it is computed from was refused,
   *   does not compile or failed on the device, or the device was lost
   */
  async download() {
    const { buffer, written, release } = this.hold();
    try {
      const { checked } = await written;
      return new Float32Array(await readBack(this.#pool, buffer, checked));
    } finally {
      release();
    }
  }

  /**
   * Frees the memory, for the next tensor of this size, as soon as nothing needs it any more: work
   * that was asked for before and downloads under way are finished.
   * @throws {SpecError} destroyed before
   */
  destroy() {
    this.#live();
    this.#destroyed = true;
    this.#giveBackIfIdle();
  }

  /**
   * Keeps the buffer until `release` is called, even if the tensor is destroyed in the meantime.
   * Await `written`, submit the work that uses the buffer, then release it.
   * @returns {Hold}
   * @throws {SpecError} the tensor was destroyed
   */
  hold() {
    this.#live();
    this.#holds++;
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      this.#holds--;
      this.#giveBackIfIdle();
    };
    return { buffer: this.#buffer, written: this.#written, release };
  }

  #live() {
    if (this.#destroyed) {
      throw new SpecError(
        `this tensor [${this.shape.join(", ")}] was destroyed; destroy it once, after its last use`,
      );
    }
  }

  #giveBackIfIdle() {
    if (this.#destroyed && this.#holds === 0) this.#pool.give(this.#buffer);
  }
}

/**
 * @param {BufferPool} pool
 * @param {GPUBuffer} source
 * @param {Promise<void>} checked
 * @returns {Promise<ArrayBuffer>}
 */
async function readBack(pool, source, checked) {
  const { buffer: staging, sound } = pool.take(source.size, MAP_READ_COPY_DST);
  try {
    const encoder = pool.device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, 0, staging, 0, source.size);
    pool.device.queue.submit([encoder.finish()]);
    const mapped = staging.mapAsync(READ);
    mapped.catch(() => {}); // the causes come first
    await checked;
    await sound;
    await mapped.catch((error) => {
      throw unreadable(error);
    });
    const copy = staging.getMappedRange().slice(0);
    staging.unmap();
    pool.give(staging);
    return copy;
  } catch (error) {
    pool.discard(staging);
    throw error;
  }
}

/**
 * Browsers reject the mapping on a lost device with no word of why.
 * @param {Error} error
 */
function unreadable({ name, message }) {
  const said = message === "" ? name : message;
  return new AttentionError(
    `this tensor cannot be downloaded: its memory cannot be mapped (${said}), as when the device ` +
      "was lost; device.lost says why, and tensors have to be made anew on another device",
  );
}

/** @param {readonly number[]} shape */
const elementsOf = (shape) => shape.reduce((product, n) => product * n, 1);

/** @param {unknown} value */
const nameOf = (value) =>
  value === null || typeof value !== "object" ? String(value) : value.constructor.name;
