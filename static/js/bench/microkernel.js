// @ts-check
/** The small kernels that measure an adapter: its clock, its arithmetic, its memory. */
import { compose } from "../attention/compose.js";
import { Pipelines } from "../attention/pipelines.js";
import { SHADER_BASE, ShaderSources } from "../attention/shader-sources.js";
import { BENCH_PARAMS, benchParams } from "./params.js";

// Values of GPUBufferUsage; the global does not exist where this module is only read.
const UNIFORM_COPY_DST = 0x40 | 0x8;

/** @typedef {"read" | "write"} Access */

/** By name, which is that of the file; see the heads of the files. */
const MICROKERNELS = Object.freeze({
  clock: { entry: "clock_chain", bindings: ["write"], enable: [] },
  fma: { entry: "fma_peak", bindings: ["write"], enable: [] },
  copy: { entry: "copy_peak", bindings: ["read", "write"], enable: [] },
  matrix: {
    entry: "matrix_peak",
    bindings: ["write"],
    enable: ["f16", "subgroups", "chromium_experimental_subgroup_matrix"],
  },
});

/** @typedef {keyof typeof MICROKERNELS} MicroName */

/** One of them, compiled, with a uniform of its own. */
export class MicroKernel {
  #device;
  #compiled;
  #uniform;

  /**
   * @param {GPUDevice} device
   * @param {MicroName} name
   * @returns {Promise<MicroKernel>}
   * @throws {import("../attention/errors.js").CompileError}
   */
  static async create(device, name) {
    const { entry, bindings, enable } = MICROKERNELS[name];
    const file = `bench/${name}.wgsl`;
    const texts = await new ShaderSources(SHADER_BASE, {}).closure(file);
    const composed = compose(file, {}, texts, { enable, params: BENCH_PARAMS });
    const access = bindings.map((one) => ({ access: /** @type {Access} */ (one) }));
    const pass = { kernel: entry, file, bindings: access };
    return new MicroKernel(device, await new Pipelines(device).get(pass, composed));
  }

  /**
   * @param {GPUDevice} device
   * @param {import("../attention/pipelines.js").Compiled} compiled
   */
  constructor(device, compiled) {
    this.#device = device;
    this.#compiled = compiled;
    this.#uniform = device.createBuffer({ size: 16, usage: UNIFORM_COPY_DST });
    this.rounds = 0;
  }

  /** @param {number} rounds of the kernel's loop, for what is submitted from now on */
  setRounds(rounds) {
    this.rounds = rounds;
    this.#device.queue.writeBuffer(this.#uniform, 0, benchParams(rounds));
  }

  /** @param {...GPUBufferBinding} buffers as the kernel binds them, from 1 on */
  bind(...buffers) {
    const resources = [{ buffer: this.#uniform }, ...buffers];
    return this.#device.createBindGroup({
      layout: this.#compiled.layout,
      entries: resources.map((resource, binding) => ({ binding, resource })),
    });
  }

  /**
   * Records one compute pass.
   *
   * @param {GPUCommandEncoder} encoder
   * @param {GPUBindGroup} group
   * @param {number} workgroups
   * @param {GPUComputePassTimestampWrites} [timestampWrites]
   */
  encode(encoder, group, workgroups, timestampWrites) {
    const pass = encoder.beginComputePass({ timestampWrites });
    pass.setPipeline(this.#compiled.pipeline);
    pass.setBindGroup(0, group, [0]);
    pass.dispatchWorkgroups(workgroups);
    pass.end();
  }

  destroy() {
    this.#uniform.destroy();
  }
}
