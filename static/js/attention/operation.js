// @ts-check
/** A compiled plan: binds the caller's buffers and records dispatches into the caller's encoder. */
import { boundBuffers } from "./bound-buffers.js";
import { mustBeEncoder } from "./device-given.js";
import { SpecError } from "./errors.js";
import { PARAMS_BYTES, PARAMS_STRIDE, packParams } from "./params.js";
import { cutPlan } from "./steps.js";

/**
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {import("./types.js").Buffers} Buffers
 * @typedef {import("./types.js").Operation} Operation
 * @typedef {import("./pipelines.js").Compiled} Compiled
 * @typedef {import("./steps.js").Slice} Slice
 */

// Values of GPUBufferUsage; the global does not exist where this module is only read.
const UNIFORM_COPY_DST = 0x40 | 0x8;
const STORAGE = 0x80;

/** Operations in a step unless the caller says otherwise: about a second on a software adapter. */
const DEFAULT_WORK = 2e9;

/**
 * @param {GPUDevice} device
 * @param {import("./memory.js").Memory} memory
 * @param {Plan} plan
 * @param {readonly Compiled[]} compiled one for each pass
 * @param {string} shaderSha256
 * @param {(operation: Operation) => void} onDestroy
 * @returns {Operation}
 */
export function createOperation(device, memory, plan, compiled, shaderSha256, onDestroy) {
  /** @type {GPUBuffer[]} */
  const own = [];
  /** @param {string} what @param {number} size @param {number} usage */
  const create = (what, size, usage) => {
    const buffer = memory.create(`${plan.kernel} ${what}`, size, usage);
    own.push(buffer);
    return buffer;
  };
  const scratch = Object.fromEntries(
    Object.entries(plan.scratch).map(([name, bytes]) => {
      return [name, { buffer: create(name, bytes, STORAGE) }];
    }),
  );

  /**
   * One Params for each slice. The uniform of the same slices is made once, however often and by
   * whatever bound they are asked for.
   * @type {Map<string, GPUBuffer>}
   */
  const uniforms = new Map();
  /** @param {readonly Slice[]} slices */
  const uniformOf = (slices) => {
    const key = slices.map(({ pass, first }) => `${pass}:${first}`).join();
    const known = uniforms.get(key);
    if (known !== undefined) return known;
    const bytes = new ArrayBuffer(PARAMS_STRIDE * slices.length);
    slices.forEach(({ first, end, grid }, n) => {
      const own = { first_workgroup: first, end_workgroup: end, grid_width: grid[0] };
      packParams({ ...plan.params, ...own }, new DataView(bytes), n * PARAMS_STRIDE);
    });
    const uniform = create("params", bytes.byteLength, UNIFORM_COPY_DST);
    device.queue.writeBuffer(uniform, 0, bytes);
    uniforms.set(key, uniform);
    return uniform;
  };

  let destroyed = false;
  const checkAlive = () => {
    if (destroyed) {
      throw new SpecError(`this operation of ${plan.kernel} was destroyed; prepare another one`);
    }
  };

  /**
   * @param {GPUCommandEncoder} encoder
   * @param {Buffers} buffers
   * @param {GPUBuffer} uniform
   * @param {readonly Slice[]} slices
   * @param {number} at index of the first of them in the uniform
   * @param {GPUComputePassTimestampWrites} [timestampWrites]
   */
  const record = (encoder, buffers, uniform, slices, at, timestampWrites) => {
    checkAlive();
    mustBeEncoder(encoder);
    const bound = { ...boundBuffers(plan, buffers, device.limits), ...scratch };
    const pass = encoder.beginComputePass({ label: plan.kernel, timestampWrites });
    slices.forEach((slice, n) => {
      const { pipeline, layout } = compiled[slice.pass];
      const entries = plan.passes[slice.pass].bindings.map(({ name, binding }) => ({
        binding,
        resource: bound[name],
      }));
      const params = { binding: 0, resource: { buffer: uniform, size: PARAMS_BYTES } };
      const group = device.createBindGroup({ layout, entries: [params, ...entries] });
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group, [(at + n) * PARAMS_STRIDE]);
      pass.dispatchWorkgroups(...slice.grid);
    });
    pass.end();
  };

  const dimension = device.limits.maxComputeWorkgroupsPerDimension;
  const whole = cutPlan(plan, dimension, Number.POSITIVE_INFINITY);
  const wholeUniform = uniformOf(whole);

  /** @type {Operation} */
  const operation = {
    plan,
    kernel: plan.kernel,
    tile: plan.tile,
    dispatches: plan.dispatches,
    scratchBytes: plan.scratchBytes,
    shaderSha256,
    encode: (encoder, buffers, timestampWrites) =>
      record(encoder, buffers, wholeUniform, whole, 0, timestampWrites),
    steps: (maxWork = DEFAULT_WORK) => {
      checkAlive();
      const slices = cutPlan(plan, dimension, maxWork);
      const uniform = uniformOf(slices);
      return slices.map((slice, n) => ({
        work: slice.work,
        encode: (encoder, buffers, timestampWrites) =>
          record(encoder, buffers, uniform, [slice], n, timestampWrites),
      }));
    },
    destroy: () => {
      destroyed = true;
      uniforms.clear();
      for (const buffer of own.splice(0)) memory.release(buffer);
      onDestroy(operation);
    },
  };
  return operation;
}
