// @ts-check
import { frame, GUARD_BYTES, guardTensor, unframe } from "./framing.js";
import { poisonWords } from "./poison.js";
import { TRACE_TENSOR } from "./trace-buffer.js";

/** @typedef {import("./transport.js").Want} Want */
/** @typedef {import("./watch.js").Watch} Watch */

/**
 * The GPU memory of one job: inputs, outputs between their guard words, and for each output one
 * staging buffer a pass, so that both passes can be read back after a single wait.
 */
export class JobBuffers {
  /** @type {GPUBuffer[]} */
  #all = [];
  #outputs;

  /**
   * @param {GPUDevice} device
   * @param {{names: string[], data: ArrayBufferView<ArrayBuffer>}[]} stored
   * @param {Want[]} want
   */
  constructor(device, stored, want) {
    this.device = device;
    /** What the kernel's bindings are called and refer to. @type {Record<string, GPUBufferBinding>} */
    this.bindings = {};
    for (const { names, data } of stored) {
      const buffer = this.#create(padded(data.byteLength), GPUBufferUsage.STORAGE, data);
      for (const name of names) this.bindings[name] = { buffer };
    }
    this.#outputs = outputsOf(want).map(({ name, bytes }) => {
      const framed = frame(bytes);
      const { COPY_DST, COPY_SRC, MAP_READ, STORAGE } = GPUBufferUsage;
      const buffer = this.#create(framed.totalBytes, STORAGE | COPY_SRC | COPY_DST);
      this.bindings[name] = { buffer, offset: framed.offset, size: framed.bindingBytes };
      const staging = [0, 1].map(() => this.#create(framed.totalBytes, MAP_READ | COPY_DST));
      return { name, framed, buffer, staging };
    });
  }

  /**
   * Fills every output with the poison of a pass, its guards with one word. Queued, so it happens
   * after what was submitted before.
   *
   * @param {number} pass 0 or 1
   * @param {number} word
   */
  poison(pass, word) {
    for (const { buffer, framed } of this.#outputs) {
      const { dataBytes, totalBytes } = framed;
      const words = new Uint32Array(totalBytes / 4).fill(word);
      const data = poisonWords(pass, word, padded(dataBytes) / 4);
      // Whatever follows the last element is guard, if only half a word.
      new Uint8Array(words.buffer).set(new Uint8Array(data.buffer, 0, dataBytes), GUARD_BYTES);
      this.device.queue.writeBuffer(buffer, 0, words);
    }
  }

  /**
   * Copies every output aside as the result of this pass.
   *
   * @param {GPUCommandEncoder} encoder
   * @param {number} pass 0 or 1
   */
  stage(encoder, pass) {
    for (const { buffer, staging, framed } of this.#outputs) {
      encoder.copyBufferToBuffer(buffer, 0, staging[pass], 0, framed.totalBytes);
    }
  }

  /**
   * Waits for both passes and takes them apart: for each output its data, `.repeat`, `.guards`.
   *
   * @param {Watch} watch
   * @returns {Promise<Map<string, Uint8Array<ArrayBuffer>>>}
   */
  async read(watch) {
    const staging = this.#outputs.flatMap((output) => output.staging);
    const mapped = Promise.all(staging.map((buffer) => buffer.mapAsync(GPUMapMode.READ)));
    await watch.race("waiting for the kernel's output", mapped);
    const tensors = new Map();
    for (const { name, framed, staging } of this.#outputs) {
      const [first, second] = staging.map((buffer) => {
        const copy = buffer.getMappedRange().slice(0); // the mapping dies with the buffer
        return unframe(copy, framed.dataBytes);
      });
      tensors.set(name, first.data);
      tensors.set(`${name}.repeat`, second.data);
      tensors.set(`${name}.guards`, new Uint8Array(guardTensor(first, second).buffer));
    }
    return tensors;
  }

  /** Frees everything at once: garbage collection would come too late in a long sweep. */
  destroy() {
    for (const buffer of this.#all) buffer.destroy();
  }

  /**
   * @param {number} size
   * @param {number} usage
   * @param {ArrayBufferView<ArrayBuffer>} [contents]
   */
  #create(size, usage, contents) {
    const buffer = this.device.createBuffer({ size, usage, mappedAtCreation: Boolean(contents) });
    this.#all.push(buffer);
    if (contents) {
      const { buffer: memory, byteOffset, byteLength } = contents;
      new Uint8Array(buffer.getMappedRange()).set(new Uint8Array(memory, byteOffset, byteLength));
      buffer.unmap();
    }
    return buffer;
  }
}

/**
 * The limits that these buffers need, beyond what the kernel needs.
 *
 * @param {Want[]} want
 */
export function outputLimits(want) {
  const frames = outputsOf(want).map(({ bytes }) => frame(bytes));
  return {
    maxBufferSize: Math.max(0, ...frames.map(({ totalBytes }) => totalBytes)),
    maxStorageBufferBindingSize: Math.max(0, ...frames.map(({ bindingBytes }) => bindingBytes)),
  };
}

/**
 * The tensors that the kernel writes; the others are made from them.
 *
 * @param {Want[]} want
 */
function outputsOf(want) {
  return want.filter(({ name }) => !name.includes(".") && name !== TRACE_TENSOR);
}

/** @param {number} bytes */
function padded(bytes) {
  return Math.ceil(bytes / 4) * 4;
}
