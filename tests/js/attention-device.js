// A device that only remembers what it was told.
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";

/** A buffer of a caller. @param {number} size bytes @param {number} [usage] STORAGE unless given */
export const fakeBuffer = (size, usage = 0x80) => ({ size, usage });

/**
 * @param {{messages?: object[], pipelineError?: Error, scopeError?: {message: string}}} [fails] what goes wrong
 */
export function fakeDevice({ messages = [], pipelineError, scopeError } = {}) {
  const log = {
    modules: [],
    scopes: 0,
    deepest: 0,
    buffers: new Set(),
    writes: [],
    dispatches: [],
  };
  let bound;
  const device = {
    log,
    limits: {
      ...DEFAULT_LIMITS,
      minUniformBufferOffsetAlignment: 256,
      minStorageBufferOffsetAlignment: 256,
    },
    pushErrorScope: () => {
      log.deepest = Math.max(log.deepest, ++log.scopes);
    },
    popErrorScope: async () => {
      log.scopes--;
      return scopeError ?? null;
    },
    createShaderModule: ({ code }) => {
      log.modules.push(code);
      return { getCompilationInfo: async () => ({ messages }) };
    },
    createBindGroupLayout: (layout) => layout,
    createPipelineLayout: (layout) => layout,
    createComputePipelineAsync: async (pipeline) => {
      if (pipelineError) throw pipelineError;
      return pipeline;
    },
    createBuffer: ({ label, size, usage }) => {
      const buffer = { label, size, usage, destroy: () => log.buffers.delete(buffer) };
      log.buffers.add(buffer);
      return buffer;
    },
    queue: { writeBuffer: (buffer, at, bytes) => log.writes.push({ buffer, at, bytes }) },
    createBindGroup: (group) => group,
    createCommandEncoder: () => ({
      beginComputePass: () => ({
        setPipeline: (pipeline) => {
          bound = { entry: pipeline.compute.entryPoint };
        },
        setBindGroup: (_, group, [at]) => Object.assign(bound, { group, at }),
        dispatchWorkgroups: (x, y) => log.dispatches.push({ ...bound, x, y }),
        end: () => {},
      }),
    }),
  };
  return /** @type {any} */ (device);
}
