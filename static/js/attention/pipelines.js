// @ts-check
/** Compiles composed shaders, once for each text, and says where on disk an error lies. */
import { CompileError } from "./errors.js";

/**
 * @typedef {import("./compose.js").Composed} Composed
 * @typedef {object} Pass what a pipeline needs to know of one
 * @property {string} kernel entry point
 * @property {string} file path under the shader folder
 * @property {readonly {access: "read" | "write", binding?: number}[]} bindings binding 0 is the
 *   uniform, entry n is binding n + 1 unless it says otherwise
 * @typedef {object} Compiled
 * @property {GPUComputePipeline} pipeline
 * @property {GPUBindGroupLayout} layout
 * @property {string} sha256 of the composed text, hex
 */

// Values of GPUShaderStage.COMPUTE; the global does not exist where this module is only read.
const COMPUTE = 0x4;

export class Pipelines {
  #device;
  /** @type {Map<string, Promise<Compiled>>} by SHA-256; compilations under way are in here too */
  #cache = new Map();

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
  }

  /**
   * The pipeline of a text, from the cache where it was compiled before.
   * @param {Pass} pass
   * @param {Composed} composed
   * @returns {Promise<Compiled>}
   * @throws {CompileError}
   */
  async get(pass, composed) {
    const sha256 = await digest(composed.text);
    const known = this.#cache.get(sha256);
    if (known !== undefined) return known;
    const compiled = this.#compile(pass, composed, sha256);
    this.#cache.set(sha256, compiled);
    compiled.catch(() => this.#cache.delete(sha256));
    return compiled;
  }

  /** @param {Pass} pass @param {Composed} composed @param {string} sha256 */
  async #compile(pass, composed, sha256) {
    const device = this.#device;
    // Push, calls and pop stand in one synchronous block: scopes of concurrent callers would
    // otherwise interleave. Everything that may fail is created inside.
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ label: pass.file, code: composed.text });
    const layout = device.createBindGroupLayout({
      label: pass.kernel,
      entries: [
        // The offset picks the Params of a step, so that one bind group serves all of them.
        { binding: 0, visibility: COMPUTE, buffer: { type: "uniform", hasDynamicOffset: true } },
        ...pass.bindings.map(({ access, binding }, n) => ({
          binding: binding ?? n + 1,
          visibility: COMPUTE,
          buffer: /** @type {GPUBufferBindingLayout} */ ({
            type: access === "read" ? "read-only-storage" : "storage",
          }),
        })),
      ],
    });
    const created = device.createComputePipelineAsync({
      label: pass.kernel,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: pass.kernel },
    });
    const scope = device.popErrorScope();
    // A device of another frame fails with that frame's Error.
    const [{ pipeline, failure }, info, error] = await Promise.all([
      outcome(created),
      module.getCompilationInfo(),
      scope.catch(() => null), // a lost device; the pipeline's own failure says so
    ]);
    const said = info.messages.find((message) => message.type === "error");
    if (said !== undefined) {
      throw new CompileError(
        plainMessage(said.message),
        composed.locate(said.lineNum, said.linePos),
      );
    }
    if (!pipeline) throw new CompileError(String(failure?.message), placeOf(pass));
    if (error !== null) throw new CompileError(error.message, placeOf(pass));
    return { pipeline, layout, sha256 };
  }
}

/**
 * What became of a pipeline: it, or why there is none.
 *
 * @param {Promise<GPUComputePipeline>} created
 * @returns {Promise<{pipeline?: GPUComputePipeline, failure?: {message: string}}>}
 */
export const outcome = (created) =>
  created.then(
    (pipeline) => ({ pipeline }),
    (failure) => ({ failure }),
  );

/**
 * What the compiler says, without the excerpt that Firefox adds: its line numbers count in the
 * composed text, and CompileError shows the line on disk.
 * @param {string} message
 */
export function plainMessage(message) {
  const [said] = message.split(/\n\s*┌─/);
  return said.trim().replace(/^Shader '[^']*' (?:parsing|validation) error: /, "");
}

/** @param {Pass} pass */
const placeOf = (pass) => ({ file: pass.file, line: 0, column: 0 });

/** @param {string} text @returns {Promise<string>} SHA-256, hex */
export async function digest(text) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
