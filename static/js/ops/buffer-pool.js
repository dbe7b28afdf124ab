// @ts-check
/**
 * GPU buffers of one device, kept for the next taker of the same size when they are given back:
 * creating a buffer clears it, and garbage collection frees it too late.
 */
import { Unsupported } from "../attention/index.js";

/**
 * @typedef {object} Lease
 * @property {GPUBuffer} buffer its contents are left over from whoever had it before
 * @property {Promise<void>} sound rejects with Unsupported if the device had no memory for it
 *
 * @typedef {object} PoolMemory
 * @property {number} liveBytes of the buffers that are taken
 * @property {number} liveBuffers
 * @property {number} pooledBytes of those that wait for a taker
 * @property {number} pooledBuffers
 */

/** Bytes that wait at most; beyond that the longest waiting are freed. */
const POOLED_BYTES = 2 ** 26;

export class BufferPool {
  #mostPooledBytes;
  /** @type {Set<GPUBuffer>} */
  #live = new Set();
  /** @type {Set<GPUBuffer>} in the order in which they were given back */
  #free = new Set();
  /** @type {WeakSet<GPUBuffer>} there was no memory for these */
  #hollow = new WeakSet();
  /**
   * What the device says of each, which may come after the buffer was given back and taken again.
   * @type {WeakMap<GPUBuffer, Promise<void>>}
   */
  #sound = new WeakMap();

  /** @param {GPUDevice} device @param {number} [mostPooledBytes] */
  constructor(device, mostPooledBytes = POOLED_BYTES) {
    this.device = device;
    this.#mostPooledBytes = mostPooledBytes;
  }

  /**
   * A buffer of exactly this size and usage, to be given back with `give` or `discard`.
   * @param {number} size bytes, a multiple of 4
   * @param {number} usage GPUBufferUsage flags
   * @returns {Lease}
   * @throws {Unsupported} the device's maxBufferSize is smaller
   */
  take(size, usage) {
    for (const buffer of this.#free) {
      const sound = this.#sound.get(buffer);
      if (buffer.size === size && buffer.usage === usage && sound !== undefined) {
        this.#free.delete(buffer);
        this.#live.add(buffer);
        return { buffer, sound };
      }
    }
    const most = this.device.limits.maxBufferSize;
    if (size > most) {
      throw new Unsupported(
        `a buffer of ${size} bytes: this device offers ${most} (maxBufferSize); request a larger ` +
          "limit or split the batch",
      );
    }
    this.device.pushErrorScope("out-of-memory");
    const buffer = this.device.createBuffer({ size, usage });
    const sound = this.#soundness(buffer, this.device.popErrorScope());
    this.#sound.set(buffer, sound);
    this.#live.add(buffer);
    return { buffer, sound };
  }

  /**
   * The buffer may be taken again: everything that uses it has been submitted.
   * @param {GPUBuffer} buffer
   */
  give(buffer) {
    if (this.#hollow.has(buffer)) return this.discard(buffer);
    if (!this.#live.delete(buffer)) return;
    this.#free.add(buffer);
    let pooled = bytesOf(this.#free);
    for (const oldest of this.#free) {
      if (pooled <= this.#mostPooledBytes) break;
      pooled -= oldest.size;
      this.#free.delete(oldest);
      oldest.destroy();
    }
  }

  /** Frees a buffer that must not be taken again. @param {GPUBuffer} buffer */
  discard(buffer) {
    this.#live.delete(buffer);
    buffer.destroy();
  }

  /** Frees everything that waits. */
  drain() {
    for (const buffer of this.#free) buffer.destroy();
    this.#free.clear();
  }

  /** @returns {PoolMemory} */
  get memory() {
    return {
      liveBytes: bytesOf(this.#live),
      liveBuffers: this.#live.size,
      pooledBytes: bytesOf(this.#free),
      pooledBuffers: this.#free.size,
    };
  }

  /** @param {GPUBuffer} buffer @param {Promise<GPUError | null>} scope @returns {Promise<void>} */
  #soundness(buffer, scope) {
    const sound = scope
      .catch(() => null) // a lost device; whoever reads the buffer is told
      .then((error) => {
        if (error === null) return;
        this.#hollow.add(buffer);
        this.drain(); // so that the next attempt has more room
        throw new Unsupported(
          `a buffer of ${buffer.size} bytes: this device is out of memory (${error.message}); ` +
            "destroy tensors that are no longer needed, or split the batch",
        );
      });
    sound.catch(() => {}); // told to those who ask
    return sound;
  }
}

/** @type {WeakMap<GPUDevice, BufferPool>} */
const pools = new WeakMap();

/**
 * The pool of a device: tensors are made from a device alone, and share it.
 * @param {GPUDevice} device
 * @returns {BufferPool}
 */
export function poolOf(device) {
  let pool = pools.get(device);
  if (pool === undefined) {
    pool = new BufferPool(device);
    pools.set(device, pool);
  }
  return pool;
}

/** @param {Iterable<GPUBuffer>} buffers */
function bytesOf(buffers) {
  let bytes = 0;
  for (const { size } of buffers) bytes += size;
  return bytes;
}
