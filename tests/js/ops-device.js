// A device without a GPU: buffers are bytes, copies are done when they are submitted, and a
// dispatch adds its number to `log.dispatches` and fills what it may write with that number.
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";

/**
 * @param {object} [fails] may be changed while the device is in use
 * @param {Promise<void>} [fails.compiling] pipelines stand ready after this
 * @param {Error} [fails.pipeline] why no pipeline compiles
 * @param {Record<string, string>} [fails.scope] message of the next error scope of a kind
 */
export function fakeDevice(fails = {}) {
  const log = { created: 0, buffers: new Set(), submits: 0, dispatches: [] };
  const scopes = [];

  const createBuffer = ({ size, usage, label = "" }) => {
    const memory = new ArrayBuffer(size);
    let mapped = new ArrayBuffer(0);
    const buffer = {
      size,
      usage,
      label,
      memory,
      destroyed: false,
      destroy: () => {
        buffer.destroyed = true;
        log.buffers.delete(buffer);
      },
      mapAsync: async () => {
        await log.mapping;
        if (buffer.destroyed) throw new Error("destroyed while it was being mapped");
      },
      getMappedRange: () => {
        mapped = memory.slice();
        return mapped;
      },
      unmap: () => structuredClone(mapped, { transfer: [mapped] }), // what was mapped is detached
    };
    log.created++;
    log.buffers.add(buffer);
    return buffer;
  };

  /** @param {any} buffer */
  const alive = (buffer) => {
    if (buffer.destroyed) throw new Error("a destroyed buffer was submitted");
  };

  const createCommandEncoder = () => {
    const commands = [];
    let bound;
    return {
      copyBufferToBuffer: (from, _at, to, _to, size) =>
        commands.push(() => {
          alive(from);
          alive(to);
          new Uint8Array(to.memory).set(new Uint8Array(from.memory, 0, size));
        }),
      beginComputePass: () => {
        let pipeline;
        return {
          setPipeline: (next) => {
            pipeline = next;
          },
          setBindGroup: (_, group) => {
            bound = group;
          },
          dispatchWorkgroups: () => {
            const { entries, layout } = bound;
            const { entryPoint } = pipeline.compute;
            commands.push(() => {
              log.dispatches.push(entryPoint);
              for (const { binding, resource } of entries) {
                alive(resource.buffer);
                const written = layout.entries.some(
                  (entry) => entry.binding === binding && entry.buffer.type === "storage",
                );
                if (written) new Float32Array(resource.buffer.memory).fill(log.dispatches.length);
              }
            });
          },
          end: () => {},
        };
      },
      finish: () => commands,
    };
  };

  const device = {
    log,
    limits: {
      ...DEFAULT_LIMITS,
      minUniformBufferOffsetAlignment: 256,
      minStorageBufferOffsetAlignment: 256,
    },
    pushErrorScope: (kind) => scopes.push(kind),
    popErrorScope: async () => {
      const kind = scopes.pop();
      const message = fails.scope?.[kind];
      if (message === undefined) return null;
      delete fails.scope[kind];
      return { message };
    },
    createBuffer,
    createShaderModule: () => ({ getCompilationInfo: async () => ({ messages: [] }) }),
    createBindGroupLayout: (layout) => layout,
    createPipelineLayout: (layout) => layout,
    createComputePipelineAsync: async (pipeline) => {
      await fails.compiling;
      if (fails.pipeline) throw fails.pipeline;
      return pipeline;
    },
    createBindGroup: (group) => group,
    createCommandEncoder,
    queue: {
      writeBuffer: (buffer, at, data) => {
        alive(buffer);
        const bytes = new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
        new Uint8Array(buffer.memory).set(bytes, at);
      },
      submit: (lists) => {
        log.submits++;
        for (const command of lists.flat()) command();
      },
    },
  };
  return /** @type {any} */ (device);
}

/** A promise and what fulfils it; Promise.withResolvers is younger than the Node of Debian 12. */
export function gate() {
  let resolve = () => {};
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
