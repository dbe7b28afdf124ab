// @ts-check
/** Pipelines of a kernel that is not ours, with the layouts that its text implies. */

import { CompileError, Unsupported } from "../attention/errors.js";
import { outcome, plainMessage } from "../attention/pipelines.js";

/** @typedef {import("./plan.js").OwnPass} OwnPass */

/**
 * @typedef {object} Compiled
 * @property {GPUComputePipeline} pipeline
 * @property {GPUBindGroupLayout[]} layouts  by group; groups that nothing is bound in are empty
 */

// Values of GPUShaderStage.COMPUTE; the global does not exist where this module is only read.
const COMPUTE = 0x4;

const TYPES = /** @type {const} */ ({
  uniform: "uniform",
  read: "read-only-storage",
  read_write: "storage",
});

/**
 * @param {GPUDevice} device
 * @param {OwnPass} pass
 * @returns {Promise<Compiled>}
 * @throws {CompileError} at the place in the kernel's own file
 */
export async function compilePass(device, { entry, file, composed, constants, bound }) {
  // Push, calls and pop stand in one synchronous block: scopes of concurrent callers would
  // otherwise interleave.
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label: file, code: composed.text });
  const last = Math.max(-1, ...bound.map(({ variable }) => variable.group));
  const layouts = Array.from({ length: last + 1 }, (_, group) =>
    device.createBindGroupLayout({
      label: `${entry} group ${group}`,
      entries: bound
        .filter(({ variable }) => variable.group === group)
        .map(({ variable: { binding, access } }) => ({
          binding,
          visibility: COMPUTE,
          buffer: { type: TYPES[access] },
        })),
    }),
  );
  const created = device.createComputePipelineAsync({
    label: entry,
    layout: device.createPipelineLayout({ bindGroupLayouts: layouts }),
    compute: { module, entryPoint: entry, constants },
  });
  const scope = device.popErrorScope();
  const [{ pipeline, failure }, info, error] = await Promise.all([
    outcome(created),
    module.getCompilationInfo(),
    scope.catch(() => null), // a lost device; the pipeline's own failure says so
  ]);
  const said = errorIn(info, composed);
  if (said !== undefined) throw said;
  const nowhere = { file, line: 0, column: 0 };
  // The scope has what was wrong first, as a ninth storage buffer; the pipeline's own failure is
  // then that it was given a layout that is none.
  if (error !== null) throw new CompileError(error.message, nowhere);
  if (!pipeline) throw new CompileError(String(failure?.message), nowhere);
  return { pipeline, layouts };
}

/**
 * Why a text could not be reflected: the compiler's words if it does not compile, else that it is
 * beyond the reflection.
 *
 * @param {GPUDevice} device
 * @param {import("./errors.js").Unreadable} unreadable
 * @returns {Promise<Error>}
 */
export async function whyUnreadable(device, { file, composed, reason }) {
  // What is wrong is read from the module; the scope keeps it from being reported as uncaught.
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label: file, code: composed.text });
  const scope = device.popErrorScope();
  const [info] = await Promise.all([module.getCompilationInfo(), scope.catch(() => null)]);
  return (
    errorIn(info, composed) ??
    new Unsupported(
      `${file} compiles, but wgsl_reflect cannot read it (${reason}), so what it binds is not ` +
        "known; write the line that it stops at in another way",
    )
  );
}

/**
 * @param {GPUCompilationInfo} info
 * @param {import("../attention/compose.js").Composed} composed
 */
function errorIn(info, composed) {
  const said = info.messages.find(({ type }) => type === "error");
  if (said === undefined) return undefined;
  const place = composed.locate(said.lineNum, said.linePos);
  return new CompileError(plainMessage(said.message), place);
}
