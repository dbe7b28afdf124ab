// @ts-check
/** Every buffer that training a model takes, listed from its sizes before anything is allocated. */
import { Unsupported } from "../attention/errors.js";
import { VOCABULARY } from "./config.js";
import { groupsOf, parameters } from "./parameters.js";

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./parameters.js").Group} Group
 * @typedef {"W" | "G" | "M" | "V"} Kind weights, their gradients, and the two averages of AdamW
 */

// Values of GPUBufferUsage; the global does not exist where this module is only read.
const STORAGE_COPY = 0x80 | 0x4 | 0x8; // STORAGE | COPY_SRC | COPY_DST
const ELEMENT_BYTES = 4; // f32 or u32

/** @type {readonly Kind[]} */
const KINDS = ["W", "G", "M", "V"];

/** Members of `Update` in train/adamw.wgsl. */
const UPDATE_SIZE = 7;

/**
 * Elements of each tensor by name, N = B·T. What the backward needs of block n is named h{n}.…;
 * scratch has no prefix and is shared by all blocks.
 * @param {Config} config
 * @returns {Map<string, number>}
 */
export function tensorSizes({ layers, C, T, B, H }) {
  const N = B * T;
  const sizes = new Map(
    Object.entries({
      tokens: N,
      targets: N,
      update: UPDATE_SIZE,
      added: N * C, // what a block adds to the stream
      logits: N * VOCABULARY,
      dlogits: N * VOCABULARY,
      losses: N,
      loss: 1,
      dx: N * C, // gradient of the stream
      dy: N * C, // of a normalized stream
      do: N * C,
      dq: N * C,
      dk: N * C,
      dv: N * C,
      dg: N * 4 * C,
      du: N * 4 * C,
      y: N * C, // the stream at its end, normalized
      stats: 2 * N,
    }),
  );
  for (let n = 0; n < layers; n++) {
    for (const name of ["y1", "q", "k", "v", "o", "x2", "y2"]) sizes.set(`h${n}.${name}`, N * C);
    for (const name of ["u", "g"]) sizes.set(`h${n}.${name}`, N * 4 * C);
    for (const name of ["stats1", "stats2"]) sizes.set(`h${n}.${name}`, 2 * N);
    sizes.set(`h${n}.lse`, B * H * T);
  }
  for (let n = 0; n <= layers; n++) sizes.set(`x${n}`, N * C); // the stream before block n
  return sizes;
}

/**
 * Elements of every buffer by label.
 * @param {Config} config
 */
function bufferSizes(config) {
  const sizes = tensorSizes(config);
  for (const { name, size } of groupsOf(parameters(config))) {
    for (const kind of KINDS) sizes.set(`${name}.${kind}`, size);
  }
  return sizes;
}

/**
 * Bytes of all buffers of a trainer; what the attention allocates is not among them.
 * @param {Config} config
 */
export function sizeBytesOf(config) {
  return [...bufferSizes(config).values()].reduce((sum, size) => sum + size, 0) * ELEMENT_BYTES;
}

/**
 * @param {Config} config
 * @param {{maxBufferSize: number, maxStorageBufferBindingSize: number}} limits
 * @throws {Unsupported} the largest buffer is larger than they allow
 */
export function checkLimits(config, { maxBufferSize, maxStorageBufferBindingSize }) {
  const [label, size] = [...bufferSizes(config)].reduce((a, b) => (b[1] > a[1] ? b : a));
  const bytes = size * ELEMENT_BYTES;
  const allowed = Math.min(maxBufferSize, maxStorageBufferBindingSize);
  if (bytes <= allowed) return;
  throw new Unsupported(
    `buffer ${label} takes ${bytes} bytes, this device allows ${allowed} ` +
      "(maxBufferSize, maxStorageBufferBindingSize); take a smaller preset or batch",
  );
}

/** The buffers of a trainer. */
export class Memory {
  /** @type {Map<string, GPUBuffer>} */
  #buffers = new Map();
  /** @type {Map<string, {group: string, offset: number, size: number}>} */
  #places = new Map();

  /**
   * @param {GPUDevice} device
   * @param {Config} config whose buffers the device's limits allow, see checkLimits
   */
  constructor(device, config) {
    /** In the order of AdamW's dispatches. @type {readonly Group[]} */
    this.groups = groupsOf(parameters(config));
    for (const group of this.groups) {
      for (const [name, place] of group.places) {
        this.#places.set(name, { group: group.name, ...place });
      }
    }
    for (const [label, size] of bufferSizes(config)) {
      const buffer = device.createBuffer({
        label,
        size: size * ELEMENT_BYTES,
        usage: STORAGE_COPY,
      });
      this.#buffers.set(label, buffer);
    }
  }

  /** @param {string} name @returns {GPUBufferBinding & {size: number}} */
  tensor(name) {
    const buffer = this.#buffers.get(name);
    if (buffer === undefined) throw new RangeError(`there is no tensor ${name}`);
    return { buffer, offset: 0, size: buffer.size };
  }

  /**
   * A parameter's weights, or what belongs to them, within the buffer of its group.
   * @param {Kind} kind
   * @param {string} name
   * @returns {GPUBufferBinding & {offset: number, size: number}}
   */
  parameter(kind, name) {
    const place = this.#places.get(name);
    if (place === undefined) throw new RangeError(`there is no parameter ${name}`);
    const { buffer } = this.tensor(`${place.group}.${kind}`);
    return {
      buffer,
      offset: place.offset * ELEMENT_BYTES,
      size: place.size * ELEMENT_BYTES,
    };
  }

  get sizeBytes() {
    return [...this.#buffers.values()].reduce((sum, { size }) => sum + size, 0);
  }

  destroy() {
    for (const buffer of this.#buffers.values()) buffer.destroy();
  }
}
