// @ts-check
/** A compiled kernel that is not ours, in the shape of the library's operations. */

/** @typedef {import("../operations.js").JobOperation} JobOperation */
/** @typedef {import("../attention/index.js").Plan} Plan */
/** @typedef {import("../attention/index.js").Buffers} Buffers */
/** @typedef {import("./plan.js").OwnPlan} OwnPlan */
/** @typedef {import("./compile.js").Compiled} Compiled */

import { SpecError } from "../attention/errors.js";
import { poisonWords } from "../poison.js";
import { DBG } from "./bind.js";

// Values of GPUBufferUsage; the global does not exist where this module is only read.
const STORAGE_COPY_DST = 0x80 | 0x8;
const UNIFORM_STORAGE_COPY_DST = 0x40 | STORAGE_COPY_DST;

/** NaN as f32 and as two f16 halves: what a scratch buffer holds before anything is written. */
const UNWRITTEN = 0x7fc1_7e01;
const PIECE_BYTES = 2 ** 22;

/**
 * @param {GPUDevice} device
 * @param {OwnPlan} plan
 * @param {readonly Compiled[]} compiled  one for each pass
 * @param {string} shaderSha256
 * @returns {JobOperation}
 */
export function createOwnOperation(device, plan, compiled, shaderSha256) {
  /** @type {GPUBuffer[]} */
  const all = [];
  /** @param {string} label @param {number} size @param {number} usage */
  const create = (label, size, usage) => {
    const buffer = device.createBuffer({ label: `${plan.name} ${label}`, size, usage });
    all.push(buffer);
    return buffer;
  };
  /** @param {GPUBuffer} buffer @param {number} pass @param {number} word */
  const fill = (buffer, pass, word) => {
    const bytes = buffer.size;
    const piece = poisonWords(pass, word, Math.min(bytes, PIECE_BYTES) / 4);
    for (let at = 0; at < bytes; at += PIECE_BYTES) {
      device.queue.writeBuffer(buffer, at, piece, 0, Math.min(bytes - at, PIECE_BYTES) / 4);
    }
  };
  /** @param {string} label @param {number} bytes */
  const unwritten = (label, bytes) => {
    const buffer = create(label, bytes, STORAGE_COPY_DST);
    fill(buffer, 0, UNWRITTEN);
    return buffer;
  };
  const scratch = Object.fromEntries(
    Object.entries(plan.scratch).map(([name, { bytes }]) => [name, unwritten(name, bytes)]),
  );
  const zeroed = Object.entries(plan.scratch).flatMap(([name, { zero }]) =>
    zero ? [scratch[name]] : [],
  );
  /** Tensors that the kernel binds and the case neither gives nor asks for. @type {Record<string, GPUBuffer>} */
  const spare = {};
  const uniforms = plan.passes.map((pass) =>
    Object.fromEntries(
      Object.entries(pass.uniforms).map(([name, bytes]) => {
        const buffer = create(name, bytes.byteLength, UNIFORM_STORAGE_COPY_DST);
        device.queue.writeBuffer(buffer, 0, bytes);
        return [name, buffer];
      }),
    ),
  );

  /** @param {number} n @param {import("./types.js").Bound} bound @param {Buffers} buffers */
  const resourceOf = (n, { kind, name, variable }, buffers) => {
    if (kind === "uniform") return { buffer: uniforms[n][variable.name] };
    if (kind === "scratch") return { buffer: scratch[name] };
    const given = buffers[/** @type {keyof Buffers} */ (name)];
    const bytes = Math.max(4, plan.tensors[name]);
    if (given !== undefined) {
      const bound = "buffer" in given ? given : { buffer: given };
      return variable.measured ? within(bound, bytes, variable.measured) : bound;
    }
    // A case without a bias is one whose bias is zero; its strides are 0, too.
    spare[name] ??=
      name === "bias" ? create(name, bytes, STORAGE_COPY_DST) : unwritten(name, bytes);
    return { buffer: spare[name] };
  };

  /** @param {GPUComputePassEncoder} pass @param {number} n @param {Buffers} buffers */
  const dispatch = (pass, n, buffers) => {
    const { bound, grid } = plan.passes[n];
    const { pipeline, layouts } = compiled[n];
    pass.setPipeline(pipeline);
    layouts.forEach((layout, group) => {
      const entries = bound
        .filter(({ variable }) => variable.group === group)
        .map((one) => ({
          binding: one.variable.binding,
          resource: resourceOf(n, one, buffers),
        }));
      pass.setBindGroup(group, device.createBindGroup({ layout, entries }));
    });
    pass.dispatchWorkgroups(...grid);
  };

  let destroyed = false;
  const checkAlive = () => {
    if (destroyed)
      throw new SpecError(`this operation of ${plan.name} was destroyed; prepare another`);
  };

  /** @param {readonly number[]} passes @returns {import("../attention/types.js").Encode} */
  const encode = (passes) => (encoder, buffers, timestampWrites) => {
    checkAlive();
    if (passes[0] === 0) for (const buffer of zeroed) encoder.clearBuffer(buffer);
    const pass = encoder.beginComputePass({ label: plan.name, timestampWrites });
    for (const n of passes) dispatch(pass, n, buffers);
    pass.end();
  };

  const everything = plan.passes.map((_, n) => n);
  const dispatches = plan.passes.filter(({ grid }) => grid.every((n) => n > 0)).length;
  const scratchBytes = Object.values(plan.scratch).reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    plan: described(plan, dispatches, scratchBytes),
    kernel: plan.name,
    tile: plan.tile,
    dispatches,
    scratchBytes,
    shaderSha256,
    encode: encode(everything),
    // A dispatch of a kernel that knows nothing of our grids cannot be cut: a step is a pass.
    steps: () => {
      checkAlive();
      return everything.map((n) => ({
        work: plan.work / everything.length,
        encode: encode([n]),
      }));
    },
    poison: (pass, word) => {
      for (const buffer of Object.values(scratch)) fill(buffer, pass, word);
      for (const [name, buffer] of Object.entries(spare)) {
        if (name !== "bias") fill(buffer, pass, word);
      }
    },
    destroy: () => {
      destroyed = true;
      for (const buffer of all.splice(0)) buffer.destroy();
    },
  };
}

/**
 * What a kernel that asks for the length of an array is given: its elements, and nothing of the
 * guard behind them, which `n >= arrayLength(&out)` would let it write to.
 *
 * @param {GPUBufferBinding} bound
 * @param {number} bytes of the tensor
 * @param {number} element bytes of an element of the array; it may hold several of the tensor's
 * @returns {GPUBufferBinding}
 */
function within(bound, bytes, element) {
  if (bound.size === undefined) return bound; // a buffer of its own has no guard
  return { ...bound, size: Math.min(bound.size, Math.ceil(bytes / element) * element) };
}

const ACCESS = /** @type {const} */ ({ uniform: "read", read: "read", read_write: "write" });

/** @param {string} name */
const tensor = (name) => /** @type {import("../attention/types.js").TensorName} */ (name);

/**
 * What reports and benchmarks ask a plan for.
 *
 * @param {OwnPlan} plan @param {number} dispatches @param {number} scratchBytes
 * @returns {Plan}
 */
function described({ name, passes, tile, tensors, scratch, work }, dispatches, scratchBytes) {
  const telling = passes.filter(({ bound }) => bound.some((one) => one.name === DBG));
  const buffers = Object.values(tensors).reduce((sum, bytes) => sum + bytes, 0);
  return Object.freeze({
    kernel: name,
    family: "own",
    tile,
    passes: passes.map(({ entry, file, grid: [x, y, z], bound }) => ({
      kernel: entry,
      file,
      constants: {},
      roles: {},
      enable: [],
      tile: {},
      why: "",
      bindings: bound.flatMap(({ kind, name, variable: { binding, access } }) =>
        kind === "tensor" ? [{ name: tensor(name), binding, access: ACCESS[access] }] : [],
      ),
      invocations: 0,
      workgroupBytes: {},
      workgroups: x * y * z,
      work: work / passes.length,
      parts: [{ workgroups: x * y * z, work: work / passes.length }],
    })),
    dispatches,
    buffers: tensors,
    scratch: Object.fromEntries(Object.entries(scratch).map(([key, { bytes }]) => [key, bytes])),
    scratchBytes,
    ownBytes: scratchBytes,
    sizeBytes: buffers + scratchBytes,
    params: {},
    ...(telling.length ? { traced: [] } : {}), // dbg() alone: a trace is for kernels that have hooks
  });
}
