// @ts-check
/**
 * A list of dispatches that is written down once and run many times: pipelines, uniforms and bind
 * groups exist before the first run, so a step only records them.
 */
import { packParams } from "../attention/params.js";
import { foldGrid } from "../attention/steps.js";
import { KERNELS } from "./kernels.js";
import { TRAIN_PARAMS, TRAIN_PARAMS_BYTES } from "./params.js";

/**
 * @typedef {import("./kernels.js").KernelName} KernelName
 * @typedef {import("./kernels.js").Sizes} Sizes
 * @typedef {Readonly<Record<string, GPUBufferBinding>>} Bound
 *
 * @typedef {object} Dispatch
 * @property {KernelName} kernel
 * @property {Sizes} sizes
 * @property {Bound} buffers by the kernel's names of its bindings
 * @property {readonly string[]} [flags] constants that are true
 *
 * @typedef {object} Foreign work that somebody else records
 * @property {(encoder: GPUCommandEncoder) => void} encode with no pass open
 * @property {number} work
 *
 * @typedef {object} Recorded a dispatch, ready
 * @property {GPUComputePipeline} pipeline
 * @property {GPUBindGroup} group
 * @property {number} offset of its Params in the uniform
 * @property {[number, number]} grid
 * @property {number} work
 */

// Values of GPUBufferUsage; the global does not exist where this module is only read.
const UNIFORM_COPY_DST = 0x40 | 0x8;

export class Program {
  /** @type {readonly (Recorded | Foreign)[]} */
  #items;
  #uniform;

  /**
   * @param {readonly (Recorded | Foreign)[]} items
   * @param {GPUBuffer} uniform
   */
  constructor(items, uniform) {
    this.#items = items;
    this.#uniform = uniform;
  }

  /** Bytes that the program itself allocates. */
  get sizeBytes() {
    return this.#uniform.size;
  }

  /**
   * The items cut into runs of consecutive ones.
   * @param {number} maxWork of a run; one item may exceed it alone
   * @returns {{work: number, encode: (encoder: GPUCommandEncoder) => void}[]}
   */
  runs(maxWork) {
    const items = this.#items;
    const runs = [];
    for (let first = 0, end = 0; first < items.length; first = end) {
      let work = 0;
      while (end < items.length && (end === first || work + items[end].work <= maxWork)) {
        work += items[end++].work;
      }
      const own = items.slice(first, end);
      runs.push({
        work,
        encode: (/** @type {GPUCommandEncoder} */ encoder) => record(encoder, own),
      });
    }
    return runs;
  }

  destroy() {
    this.#uniform.destroy();
  }
}

/**
 * Compiles a list of dispatches.
 * @param {GPUDevice} device
 * @param {import("./kernels.js").TrainKernels} kernels
 * @param {readonly (Dispatch | Foreign)[]} list
 * @returns {Promise<Program>}
 * @throws {import("../attention/errors.js").CompileError}
 * @throws {RangeError} a binding is missing or superfluous
 */
export async function createProgram(device, kernels, list) {
  const own = list.filter((item) => "kernel" in item);
  const compiled = await Promise.all(
    own.map(({ kernel, flags = [] }) => kernels.get(kernel, flags)),
  );
  const stride = Math.max(device.limits.minUniformBufferOffsetAlignment, TRAIN_PARAMS_BYTES);
  const bytes = new DataView(new ArrayBuffer(Math.max(1, own.length) * stride));
  const uniform = device.createBuffer({
    label: "train params",
    size: bytes.byteLength,
    usage: UNIFORM_COPY_DST,
  });
  device.pushErrorScope("validation");
  let n = 0;
  const items = list.map((item) => {
    if (!("kernel" in item)) return item;
    const { pipeline, layout } = compiled[n];
    const offset = n++ * stride;
    const workgroups = KERNELS[item.kernel].workgroups(item.sizes);
    const grid = foldGrid(workgroups, device.limits.maxComputeWorkgroupsPerDimension);
    const { rows, columns, depth = 0, decaying = 0 } = item.sizes;
    const params = { rows, columns, depth, decaying, workgroups, grid_width: grid[0] };
    packParams(params, bytes, offset, TRAIN_PARAMS);
    const group = device.createBindGroup({
      label: item.kernel,
      layout,
      entries: [
        { binding: 0, resource: { buffer: uniform, size: TRAIN_PARAMS_BYTES } },
        ...entriesOf(item),
      ],
    });
    return { pipeline, group, offset, grid, work: workOf(item) };
  });
  device.queue.writeBuffer(uniform, 0, bytes);
  const error = await device.popErrorScope();
  if (error !== null) {
    uniform.destroy();
    throw new Error(`the training program cannot be built: ${error.message}`);
  }
  return new Program(items, uniform);
}

/** @param {Dispatch} item */
function entriesOf({ kernel, buffers }) {
  const names = KERNELS[kernel].bindings.map(([name]) => name);
  const given = Object.keys(buffers);
  const odd = [
    ...names.filter((n) => !given.includes(n)),
    ...given.filter((n) => !names.includes(n)),
  ];
  if (odd.length > 0) {
    throw new RangeError(`kernel ${kernel} binds ${names.join(", ")}, given ${given.join(", ")}`);
  }
  return names.map((name, n) => ({ binding: n + 1, resource: buffers[name] }));
}

/**
 * Floating-point operations, about. Other kernels than products are bound by memory; each element
 * stands for a few operations.
 * @param {Dispatch} item
 */
function workOf({ kernel, sizes: { rows, columns, depth = 0 } }) {
  const summed = ["matmul", "linear", "embed_backward"].includes(kernel);
  return rows * columns * (summed ? 2 * depth : 10);
}

/**
 * @param {GPUCommandEncoder} encoder
 * @param {readonly (Recorded | Foreign)[]} items
 */
function record(encoder, items) {
  /** @type {GPUComputePassEncoder | null} */
  let pass = null;
  for (const item of items) {
    if ("encode" in item) {
      pass?.end();
      pass = null;
      item.encode(encoder);
    } else {
      pass ??= encoder.beginComputePass({ label: "train" });
      pass.setPipeline(item.pipeline);
      pass.setBindGroup(0, item.group, [item.offset]);
      pass.dispatchWorkgroups(...item.grid);
    }
  }
  pass?.end();
}
