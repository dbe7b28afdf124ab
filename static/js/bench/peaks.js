// @ts-check
/** What an adapter can do at most, measured: f32 arithmetic, memory, f16 matrices. */
import { factsOf } from "../attention/facts.js";
import { MicroKernel } from "./microkernel.js";

/** @typedef {import("./sampler.js").Sampler} Sampler */
/** @typedef {import("./microkernel.js").MicroName} MicroName */

/**
 * @typedef {object} Peaks
 * @property {number} f32_tflops  fused multiply-adds, each counted twice
 * @property {number} copy_gbps   bytes read and written
 * @property {number | null} f16_matrix_tflops  null where there are no such matrices
 */

// Values of GPUBufferUsage; the global does not exist where this module is only read.
const STORAGE = 0x80;
const INVOCATIONS = 256;
const SAMPLES = 10;
const WARM_UP_NS = 3e8;
const MATRICES = "f16:f32:16x16x16";

/**
 * Sizes for an adapter: enough workgroups that the last ones cost nothing, on the CPU enough work
 * that starting it costs nothing. The copy exceeds the caches that GPUs have.
 *
 * @param {boolean} software
 * @param {number} bindingBytes most of one binding
 */
function sizesFor(software, bindingBytes) {
  if (software) return { workgroups: 256, rounds: 4, copyBytes: 2 ** 24 };
  // Long invocations: with 8 rounds each, an H200's 64 TFLOP/s read as 53.
  return { workgroups: 8192, rounds: 128, copyBytes: Math.min(2 ** 27, bindingBytes) };
}

/**
 * @param {GPUDevice} device
 * @param {Sampler} sampler
 * @param {import("../watch.js").Watch} watch
 * @param {(done: number, total: number) => void} onProgress
 * @returns {Promise<Peaks>}
 */
export async function measurePeaks(device, sampler, watch, onProgress) {
  const { software, matrices } = factsOf(device);
  const { workgroups, rounds, copyBytes } = sizesFor(
    software,
    device.limits.maxStorageBufferBindingSize,
  );
  /** @type {GPUBuffer[]} */
  const buffers = [];
  const buffer = (/** @type {number} */ size) => {
    buffers.push(device.createBuffer({ size, usage: STORAGE }));
    return { buffer: buffers[buffers.length - 1] };
  };
  /**
   * Nanoseconds of one dispatch, the fastest of some: a peak.
   *
   * @param {MicroName} name
   * @param {number} rounds
   * @param {number} groups
   * @param {GPUBufferBinding[]} bound  what is written last
   */
  const fastest = async (name, rounds, groups, bound) => {
    const kernel = await watch.race(`compiling ${name}`, MicroKernel.create(device, name));
    kernel.setRounds(rounds);
    const group = kernel.bind(...bound);
    const timed = {
      parts: [
        /** @type {import("./sampler.js").Encode} */
        ((encoder, stamps) => kernel.encode(encoder, group, groups, stamps)),
      ],
      sink: bound[bound.length - 1],
    };
    let how = await sampler.calibrate(timed, 1e7);
    if (!software) {
      // A GPU wakes up while it works, and is another one then.
      const samples = Math.min(1000, Math.ceil(WARM_UP_NS / (how.calls * how.expectedNs)));
      await sampler.take(timed, samples, how);
      how = await sampler.calibrate(timed, how.expectedNs);
    }
    const { ns } = await sampler.take(timed, SAMPLES, how);
    kernel.destroy();
    return Math.min(...ns);
  };

  try {
    const small = buffer(4 * 8 * 1024);
    const total = 2 + Number(matrices.includes(MATRICES)) + Number(!software);
    onProgress(0, total);
    let fma = await fastest("fma", rounds, workgroups, [small]);
    onProgress(1, total);
    const moved = Math.floor(copyBytes / (16 * INVOCATIONS * 4)) * 16 * INVOCATIONS * 4;
    const copy = await fastest("copy", 4, moved / (16 * INVOCATIONS * 4), [
      buffer(copyBytes),
      buffer(copyBytes),
    ]);
    onProgress(2, total);
    const matrix = matrices.includes(MATRICES)
      ? await tried(fastest("matrix", 64, workgroups, [small]))
      : null;
    if (!software) {
      // A GPU that slept may take longer than the warm-up: once an H200 gave 29 first, 59 in all others.
      onProgress(total - 1, total);
      fma = Math.min(fma, await fastest("fma", rounds, workgroups, [small]));
    }
    onProgress(total, total);
    return {
      f32_tflops: (workgroups * INVOCATIONS * 256 * rounds) / fma / 1000,
      copy_gbps: (2 * moved) / copy,
      f16_matrix_tflops: matrix && (workgroups * 4 * 65536 * 64) / matrix / 1000,
    };
  } finally {
    for (const one of buffers) one.destroy();
  }
}

/**
 * The matrices are an experiment, and what browsers take for their WGSL may change: without its
 * peak everything else can still be measured.
 *
 * @param {Promise<number>} measuring
 */
function tried(measuring) {
  return measuring.catch((error) => {
    if (error.kind === "compile") return null;
    throw error;
  });
}
