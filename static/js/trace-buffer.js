// @ts-check
import { RunError } from "./run-error.js";

/**
 * The buffer that kernels tell their state into: a head of eight words, then records of four.
 *
 *     wanted, b, h, row_first, row_end, key_first, key_end, key_tile     (common/dbg.wgsl)
 *
 * It is sent to the server as it is, as the tensor `trace`.
 */

/** @typedef {import("./transport.js").Job} Job */
/** @typedef {import("./attention/index.js").Operation} Operation */
/** @typedef {import("./attention/index.js").Spec} Spec */
/** @typedef {{Br: number, Bc: number}} Tile */
/** @typedef {{b: number, h: number, i_tile?: number, j_tile?: number}} Wanted whose state is wanted */

export const HEAD_WORDS = 8;
/** The name under which it is uploaded. */
export const TRACE_TENSOR = "trace";

/** Storage buffers of the kernel that binds most of them, and this one. */
const MOST_BUFFERS = 9;

/** @param {Pick<Job, "want">} job */
const wantOf = ({ want }) => want.find(({ name }) => name === TRACE_TENSOR);

/**
 * What a device should offer for a job that is traced, as far as the adapter has it.
 *
 * @param {Pick<Job, "want">} job
 * @param {Readonly<Record<string, number>>} available
 * @returns {Record<string, number>}
 */
export function traceLimits(job, available) {
  if (!wantOf(job)) return {};
  const most = Math.min(MOST_BUFFERS, available.maxStorageBuffersPerShaderStage);
  return { maxStorageBuffersPerShaderStage: most };
}

/**
 * The rows and keys that a tile means, counted in the tensors.
 *
 * @param {{Tq: number, Tk: number, causal: boolean, align: string, op: string}} spec
 * @param {Tile} tile of the operation that the job is named after
 * @param {Wanted} wanted without a query tile: the first that sees the key tile; without a key tile:
 *   the one that holds the last key that the first row sees
 * @returns {{rows: [number, number], keys: [number, number]}} first and end
 * @throws {RunError} there is no such tile
 */
export function rangesOf({ Tq, Tk, causal, align, op }, { Br, Bc }, { i_tile, j_tile }) {
  const offset = align === "br" ? Tk - Tq : 0;
  const sees = causal ? Math.min(Math.max((j_tile ?? 0) * Bc - offset, 0), Tq - 1) : 0;
  const first = (i_tile ?? Math.floor(sees / Br)) * Br;
  if (first >= Tq) throw noTile("query", i_tile ?? 0, Br, Tq);
  const rows = /** @type {[number, number]} */ ([first, Math.min(first + Br, Tq)]);
  if (op !== "backward") return { rows, keys: [0, Tk] };
  const last = causal ? Math.min(Math.max(first + offset, 0), Tk - 1) : 0;
  const key = (j_tile ?? Math.floor(last / Bc)) * Bc;
  if (key >= Tk) throw noTile("key", j_tile ?? 0, Bc, Tk);
  return { rows, keys: [key, Math.min(key + Bc, Tk)] };
}

/** @param {string} kind @param {number} tile @param {number} size @param {number} length */
function noTile(kind, tile, size, length) {
  const last = Math.ceil(length / size) - 1;
  return new RunError(
    "unsupported",
    `there is no ${kind} tile ${tile}: this kernel's tiles are ${size} long, so they are 0 to ${last}`,
  );
}

/**
 * The kernels that tell their tiles in a job; none unless the one that it is named after does.
 *
 * @param {Pick<Job, "trace">} job
 * @param {Operation[]} operations
 */
export function tracedBy({ trace }, operations) {
  const able = trace && operations[operations.length - 1].plan.traced?.length;
  return able ? operations.flatMap(({ plan }) => plan.traced ?? []) : [];
}

/** The memory of one traced job on the GPU. */
export class TraceBuffer {
  /**
   * @param {Job} job
   * @param {Operation[]} operations the one that the job is named after comes last
   * @returns {Uint32Array<ArrayBuffer> | null} the head, of zeros where dbg() alone is called; null
   *   where no kernel tells anything
   * @throws {RunError} a trace is wanted, and the kernels that would run cannot tell one
   */
  static headOf({ spec, trace }, operations) {
    const main = operations[operations.length - 1];
    if (!trace || main.plan.traced?.length === 0) {
      return operations.some(({ plan }) => plan.traced) ? new Uint32Array(HEAD_WORDS) : null;
    }
    if (main.plan.traced === undefined || main.tile === null) {
      throw new RunError(
        "unsupported",
        `kernel ${main.kernel} has no trace hooks; name kernel=fa2_${spec.op}`,
      );
    }
    const { rows, keys } = rangesOf(spec, main.tile, trace);
    const keyTile = operations[0].tile?.Bc ?? 0;
    return new Uint32Array([0, trace.b, trace.h, ...rows, ...keys, keyTile]);
  }

  /** @type {GPUBuffer} */
  #staging;

  /**
   * @param {GPUDevice} device
   * @param {Pick<Job, "want">} job
   * @param {Uint32Array<ArrayBuffer>} head
   */
  constructor(device, job, head) {
    const { COPY_DST, COPY_SRC, MAP_READ, STORAGE } = GPUBufferUsage;
    this.device = device;
    this.head = head;
    /** Nobody may have asked: what is told then is lost. */
    this.wanted = wantOf(job) !== undefined;
    this.size = wantOf(job)?.bytes ?? 4 * (HEAD_WORDS + 4);
    this.buffer = device.createBuffer({ size: this.size, usage: STORAGE | COPY_SRC | COPY_DST });
    this.#staging = device.createBuffer({ size: this.size, usage: MAP_READ | COPY_DST });
  }

  /** Before a pass. What an earlier one told is overwritten. */
  reset() {
    this.device.queue.writeBuffer(this.buffer, 0, this.head);
  }

  /** @param {GPUCommandEncoder} encoder */
  stage(encoder) {
    encoder.copyBufferToBuffer(this.buffer, 0, this.#staging, 0, this.size);
  }

  /** @returns {Promise<Uint8Array<ArrayBuffer>>} */
  async read() {
    await this.#staging.mapAsync(GPUMapMode.READ);
    return new Uint8Array(this.#staging.getMappedRange().slice(0));
  }

  destroy() {
    this.buffer.destroy();
    this.#staging.destroy();
  }
}
