// @ts-check
/** Whether a device's subgroups are what kernels take them for: asked of the device itself, once. */

const FILE = "subgroup_probe.wgsl";
const LANES = 256;
const MEMBERS = 4; // of Seen, u32 each
const BYTES = LANES * MEMBERS * 4;

// Values of GPUBufferUsage and GPUMapMode; the globals do not exist where this is only read.
const STORAGE_COPY_SRC = 0x80 | 0x4;
const MAP_READ_COPY_DST = 0x1 | 0x8;
const READ = 0x1;

/**
 * Runs the probe.
 * @param {GPUDevice} device with the feature `subgroups`
 * @param {import("./shader-sources.js").ShaderSources} sources
 * @param {{subgroupMinSize: number, subgroupMaxSize: number}} told
 * @returns {Promise<boolean>} false too when it cannot be run
 */
export async function subgroupsAsTold(device, sources, told) {
  const { [FILE]: code } = await sources.closure(FILE);
  /** @type {GPUBuffer[]} */
  const buffers = [];
  try {
    const module = device.createShaderModule({ label: FILE, code });
    const pipeline = await device.createComputePipelineAsync({
      layout: "auto",
      compute: { module, entryPoint: "subgroup_probe" },
    });
    const seen = device.createBuffer({ label: FILE, size: BYTES, usage: STORAGE_COPY_SRC });
    const read = device.createBuffer({ label: FILE, size: BYTES, usage: MAP_READ_COPY_DST });
    buffers.push(seen, read);
    const layout = pipeline.getBindGroupLayout(0);
    const entries = [{ binding: 0, resource: { buffer: seen } }];
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(seen, 0, read, 0, BYTES);
    device.queue.submit([encoder.finish()]);
    await read.mapAsync(READ);
    return isLinear(new Uint32Array(read.getMappedRange()), told);
  } catch {
    return false; // a device that was lost says so at the next step
  } finally {
    for (const buffer of buffers) buffer.destroy();
  }
}

/**
 * Whether every invocation saw itself in its place of a run of `size` lanes.
 * @param {Uint32Array} seen size, place, first and neighbour of each lane
 * @param {{subgroupMinSize: number, subgroupMaxSize: number}} told
 */
export function isLinear(seen, { subgroupMinSize: least, subgroupMaxSize: most }) {
  for (let lane = 0; lane < seen.length / MEMBERS; lane++) {
    const [size, place, first, neighbour] = seen.subarray(lane * MEMBERS, (lane + 1) * MEMBERS);
    if (size < least || size > most || place !== lane % size) return false;
    if (first !== lane - place || neighbour !== (lane ^ 1)) return false;
  }
  return true;
}
