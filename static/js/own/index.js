// @ts-check
/**
 * Kernels that are not ours: a WGSL text, a manifest that says what its variables are, and the
 * library's forward where a backward needs one. What comes out has the shape of the library's
 * operations, so that runs, benchmarks and the judge treat it like one.
 */

import { Unsupported } from "../attention/index.js";
import { digest } from "../attention/pipelines.js";
import { SHADER_BASE, ShaderSources } from "../attention/shader-sources.js";
import { librarySpec } from "../case-spec.js";
import { TRACE_TENSOR } from "../trace-buffer.js";
import { compilePass, whyUnreadable } from "./compile.js";
import { Unreadable } from "./errors.js";
import { createOwnOperation } from "./operation.js";
import { planOwn } from "./plan.js";

/** @typedef {import("./types.js").Own} Own */
/** @typedef {import("../operations.js").JobOperation} JobOperation */
/** @typedef {import("../attention/index.js").Spec} Spec */

/**
 * What a job with a kernel of its own runs, that kernel last.
 *
 * @param {GPUDevice} device
 * @param {import("../attention/index.js").Attention} attention
 * @param {object} job
 * @param {Own} job.own
 * @param {import("../runner.js").Spec} job.spec
 * @param {readonly {name: string}[]} job.want
 * @param {Record<string, string>} [job.shaders] edited files, which the kernel may use
 * @returns {Promise<JobOperation[]>}
 */
export async function ownOperations(device, attention, { own, want, shaders = {}, ...job }) {
  const spec = librarySpec(job.spec);
  const sources = new ShaderSources(SHADER_BASE, { ...shaders, ...own.files });
  const names = want
    .map(({ name }) => name)
    .filter((name) => !name.includes(".") && name !== TRACE_TENSOR);
  const main = () => prepare(device, own, spec, names, sources);
  if (spec.op !== "backward") return [await main()];
  const before = { ...spec, op: /** @type {const} */ ("forward") };
  const { forward } = own.manifest;
  const first = forward
    ? prepare(device, { ...own, manifest: forward }, before, ["o", "lse"], sources)
    : attention.prepare(before, { kernel: "fa2" });
  return Promise.all([first, main()]);
}

/**
 * @param {GPUDevice} device
 * @param {Own} own
 * @param {Spec} spec
 * @param {readonly string[]} want
 * @param {ShaderSources} sources
 * @returns {Promise<JobOperation>}
 */
async function prepare(device, own, spec, want, sources) {
  const { limits } = device;
  try {
    const closure = (/** @type {string} */ file) => sources.closure(file);
    const plan = await planOwn(own, spec, { limits, want, closure });
    const compiled = await Promise.all(plan.passes.map((pass) => compilePass(device, pass)));
    const texts = await Promise.all(plan.passes.map(({ composed }) => digest(composed.text)));
    const distinct = [...new Set(texts)];
    const sha256 = distinct.length === 1 ? distinct[0] : await digest(distinct.join("\n"));
    device.pushErrorScope("out-of-memory");
    const operation = createOwnOperation(device, plan, compiled, sha256);
    const error = await device.popErrorScope().catch(() => null); // of a lost device
    if (error === null) return operation;
    operation.destroy();
    throw new Unsupported(
      `${plan.name} asks for ${operation.scratchBytes} bytes of scratch, and this device is out of ` +
        `memory (${error.message}); use a smaller case`,
    );
  } catch (error) {
    throw error instanceof Unreadable ? await whyUnreadable(device, error) : error;
  }
}
