// @ts-check
/** The buffers that the library makes for itself, counted, so that nothing can grow unseen. */

export class Memory {
  #device;
  /** @type {Map<GPUBuffer, {label: string, bytes: number}>} */
  #live = new Map();

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
  }

  /**
   * @param {string} label
   * @param {number} size bytes
   * @param {number} usage
   * @returns {GPUBuffer} to be given back to `release`
   */
  create(label, size, usage) {
    const buffer = this.#device.createBuffer({ label, size, usage });
    this.#live.set(buffer, { label, bytes: size });
    return buffer;
  }

  /** Frees a buffer at once: garbage collection would come too late. @param {GPUBuffer} buffer */
  release(buffer) {
    this.#live.delete(buffer);
    buffer.destroy();
  }

  /**
   * Bytes of the buffers that exist at this moment, by label.
   * @returns {Record<string, number>}
   */
  live() {
    /** @type {Record<string, number>} */
    const bytes = {};
    for (const { label, bytes: size } of this.#live.values()) {
      bytes[label] = (bytes[label] ?? 0) + size;
    }
    return bytes;
  }
}
