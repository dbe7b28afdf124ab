// @ts-check
/**
 * Trains a byte-level GPT on a GPU device: forward, backward and update are compute shaders, and
 * the attention is the caller's.
 *
 *     const trainer = await createTrainer(device, { preset: "tiny", seed: "1", attention });
 *     const loss = await trainer.step();
 *     trainer.destroy();
 *
 * It proves attention kernels inside a real model; server/gpt.py is its twin in NumPy.
 */
import { Unsupported } from "../attention/errors.js";
import { configOf } from "./config.js";
import { batch, corpus } from "./data.js";
import { gradientGraph, updateGraph } from "./graph.js";
import { TrainKernels } from "./kernels.js";
import { checkLimits, Memory, sizeBytesOf } from "./memory.js";
import { firstValues, parameters } from "./parameters.js";
import { createProgram } from "./program.js";
import { Trainer } from "./trainer.js";

export { attentionSpec, configOf, flopsPerStep, PRESETS } from "./config.js";
export { sizeBytesOf } from "./memory.js";

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./graph.js").Attention} Attention
 * @typedef {import("./program.js").Program} Program
 *
 * @typedef {object} TrainerOptions
 * @property {string | Config} preset name of a preset, or sizes of one's own
 * @property {Attention} attention for the preset's (B, T, H, D); see `attentionSpec`
 * @property {string} [seed] of weights and batches, decimal or 0x…, below 2⁶⁴; default "0"
 * @property {boolean} [oneBatch] every step sees the batch of the first; default false
 * @property {URL} [shaderBase] folder of the .wgsl files
 * @property {Readonly<Record<string, string>>} [shaders] texts by path, used instead of fetching
 */

/** How long the page may stand still, about. */
const LONGEST_BLOCK_MS = 50;

/**
 * Allocates, compiles and fills a model.
 * @param {GPUDevice} device with any limits and no features; stays the caller's
 * @param {TrainerOptions} options
 * @returns {Promise<Trainer>}
 * @throws {import("../attention/errors.js").SpecError} an unknown preset or impossible sizes
 * @throws {Unsupported} the device cannot hold the model
 * @throws {import("../attention/errors.js").CompileError}
 */
export async function createTrainer(device, options) {
  const config = configOf(options.preset);
  const { seed = "0", attention, oneBatch = false } = options;
  const memory = await allocate(device, config);
  /** @type {Program[]} */
  const programs = [];
  try {
    const text = await corpus();
    const data = (/** @type {number} */ step) => batch(text, config, seed, oneBatch ? 0 : step);
    const kernels = new TrainKernels(device, options);
    for (const graph of [gradientGraph(config, memory, attention), updateGraph(memory)]) {
      programs.push(await createProgram(device, kernels, graph));
    }
    let rested = performance.now();
    for (const parameter of parameters(config)) {
      const { buffer, offset } = memory.parameter("W", parameter.name);
      device.queue.writeBuffer(buffer, offset, firstValues(parameter, config, seed));
      // Drawing a large model takes seconds; the page lives on between its tensors.
      if (performance.now() - rested > LONGEST_BLOCK_MS) {
        await new Promise((resolve) => setTimeout(resolve));
        rested = performance.now();
      }
    }
    const [gradient, update] = programs;
    return new Trainer(device, config, memory, { gradient, update }, data);
  } catch (error) {
    for (const program of programs) program.destroy();
    memory.destroy();
    throw error;
  }
}

/**
 * @param {GPUDevice} device
 * @param {Config} config
 * @throws {Unsupported}
 */
async function allocate(device, config) {
  checkLimits(config, device.limits);
  device.pushErrorScope("out-of-memory");
  const memory = new Memory(device, config);
  const error = await device.popErrorScope();
  if (error === null) return memory;
  memory.destroy();
  const { layers, C, T, B } = config;
  throw new Unsupported(
    `a model of layers=${layers}, C=${C}, T=${T}, B=${B} takes ${sizeBytesOf(config)} bytes, ` +
      "more than this device can allocate; take a smaller preset or batch",
  );
}
