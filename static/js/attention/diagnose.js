// @ts-check
/** What the compiler says about the shaders of a request, without a pipeline or a buffer. */
import { checkTuned } from "./check-tuned.js";
import { mustBeDevice, mustHaveLimits } from "./device-given.js";
import { CompileError } from "./errors.js";
import { factsOf, withoutMatrices } from "./facts.js";
import { knownKeys } from "./known-keys.js";
import { mustDoWithout } from "./matrix-probe.js";
import { composePart, partOf } from "./parts.js";
import { Pipelines, plainMessage } from "./pipelines.js";
import { buildPlan } from "./plan.js";
import { SHADER_BASE, ShaderSources } from "./shader-sources.js";
import { withoutTile } from "./tuned.js";

/**
 * @typedef {object} Message of a compiler, at its place in a file on disk
 * @property {"error" | "warning" | "info"} type
 * @property {string} text
 * @property {string} file path under the shader folder, or "(constants)"
 * @property {number} line 1-based; 0 = unknown
 * @property {number} column 1-based, in UTF-16 units; 0 = unknown. Beyond the end of the line when
 *   it lies in a further copy of an `@unroll`ed loop
 * @property {number} length of what it is about, in UTF-16 units; 0 = unknown
 */

/**
 * @typedef {object} Diagnosis
 * @property {import("./types.js").Plan} plan
 * @property {string[]} files that its passes are made of, kernels first
 * @property {Message[]} messages each once, in the order of the passes
 */

/**
 * Composes the shaders of a request and has them checked. A pipeline may still be refused: limits
 * are looked at only there. A tuned tile that does not compile is left out, as by `prepare`.
 * @param {GPUDevice} device
 * @param {import("./types.js").Spec} spec
 * @param {object} [options]
 * @param {string} [options.kernel] as for `prepare`
 * @param {URL} [options.shaderBase] folder of the .wgsl files
 * @param {Readonly<Record<string, string>>} [options.shaders] texts by path under that folder, used
 *   instead of fetching
 * @param {import("./types.js").TunedTable} [options.tuned] tiles measured on this adapter
 * @param {import("./types.js").Described} [options.adapter] whose limits choose the tiles, where
 *   the device that will run them is yet to be asked for; default: those of `device`
 * @returns {Promise<Diagnosis>}
 * @throws {import("./errors.js").SpecError | import("./errors.js").Unsupported} there is no plan
 */
export async function diagnose(device, spec, options = {}) {
  knownKeys("options", options, ["kernel", "shaderBase", "shaders", "tuned", "adapter"]);
  const { kernel, shaderBase = SHADER_BASE, shaders = {}, tuned = {}, adapter = device } = options;
  mustBeDevice("diagnose", device);
  mustHaveLimits("options.adapter of diagnose", adapter);
  checkTuned(tuned);
  const sources = new ShaderSources(shaderBase, shaders);
  return diagnosed(device, spec, { kernel, sources, tuned, facts: factsOf(adapter) });
}

/**
 * As `prepare` goes on: without a tuned tile that does not compile, then without matrices.
 * @param {GPUDevice} device
 * @param {import("./types.js").Spec} spec
 * @param {{kernel?: string, sources: ShaderSources, tuned: import("./types.js").TunedTable,
 *   facts: import("./types.js").DeviceFacts}} given
 * @returns {ReturnType<typeof diagnose>}
 */
async function diagnosed(device, spec, given) {
  const { kernel, sources, tuned, facts } = given;
  const plan = buildPlan(spec, facts, kernel ? { kernel } : {}, tuned);
  const passes = await Promise.all(plan.passes.map((pass) => diagnosePass(device, pass, sources)));
  const failed = plan.passes.find((_, n) => passes[n].refused);
  const others = failed ? withoutTile(tuned, failed) : tuned;
  if (others !== tuned) return diagnosed(device, spec, { ...given, tuned: others });
  if (
    failed &&
    (await mustDoWithout(failed, { kernel, plan, tuned }, sources, new Pipelines(device)))
  ) {
    return diagnosed(device, spec, { ...given, facts: withoutMatrices(facts) });
  }
  const kernels = plan.passes.map(({ file }) => file);
  const files = [...kernels, ...passes.flatMap((pass) => pass.files)];
  /** @type {Map<string, Message>} passes share files, and copies of a loop share its faults */
  const messages = new Map();
  for (const message of passes.flatMap((pass) => pass.messages)) {
    const { type, text, file, line, column } = message;
    messages.set([type, file, line, column, text].join("\n"), message);
  }
  return { plan, files: [...new Set(files)], messages: [...messages.values()] };
}

/**
 * @param {GPUDevice} device
 * @param {import("./types.js").Pass} pass
 * @param {ShaderSources} sources
 * @returns {Promise<{files: string[], messages: Message[], refused: boolean}>} refused: its text is
 *   there and does not compile, which another tile may mend
 */
async function diagnosePass(device, pass, sources) {
  /** @type {string[] | null} */
  let files = null;
  try {
    const most = device.limits.maxStorageBuffersPerShaderStage;
    const part = await partOf(pass, sources, { trace: false, most });
    files = Object.keys(part.texts);
    const messages = await compilerMessages(device, pass.file, composePart(part));
    return { files, messages, refused: messages.some(({ type }) => type === "error") };
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    const { text, file, line, column } = error;
    const messages = [
      { type: /** @type {const} */ ("error"), text, file, line, column, length: 0 },
    ];
    return { files: files ?? [pass.file], messages, refused: files !== null };
  }
}

/**
 * @param {GPUDevice} device
 * @param {string} label
 * @param {import("./compose.js").Composed} composed
 * @returns {Promise<Message[]>}
 */
export async function compilerMessages(device, label, composed) {
  // What is wrong is read from the module; the scope keeps it from being reported as uncaught.
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label, code: composed.text });
  const scope = device.popErrorScope();
  const [info] = await Promise.all([module.getCompilationInfo(), scope.catch(() => null)]);
  return info.messages.map(({ type, message, lineNum, linePos, length }) => {
    const { file, line, column } = composed.locate(lineNum, linePos);
    return { type, text: plainMessage(message), file, line, column, length };
  });
}
