// @ts-check
/** Whether what a caller gave is a device, an adapter or an encoder; if not, what to give instead. */
import { SpecError } from "./errors.js";
import { kindOf } from "./shown.js";

// By what they can do, not by their class: a device of another frame or of a Node module is one too.

/** @param {any} value @param {string} method */
const can = (value, method) => typeof value?.[method] === "function";

/**
 * @param {string} who takes it
 * @param {unknown} given
 * @throws {SpecError} it is no GPUDevice
 */
export function mustBeDevice(who, given) {
  if (can(given, "createShaderModule") && can(given, "createComputePipelineAsync")) return;
  throw new SpecError(`${who} takes a GPUDevice (got ${kindOf(given)}${wayOut(given)})`);
}

/** @param {unknown} given */
function wayOut(given) {
  if (can(given, "then")) return ": await it";
  if (can(given, "requestDevice")) return ": await adapter.requestDevice()";
  if (can(given, "requestAdapter")) return ": await (await gpu.requestAdapter()).requestDevice()";
  return "";
}

/**
 * @param {string} who takes it
 * @param {any} given
 * @throws {SpecError} it has no limits
 */
export function mustHaveLimits(who, given) {
  if (typeof given?.limits === "object" && given.limits !== null) return;
  const hint = can(given, "then") ? ": await it" : "";
  throw new SpecError(
    `${who} takes a GPUAdapter or a GPUDevice, or {limits, features, info} of one (got ` +
      `${kindOf(given)}${hint})`,
  );
}

/**
 * @param {unknown} given
 * @throws {SpecError} nothing can be recorded into it
 */
export function mustBeEncoder(given) {
  if (can(given, "beginComputePass")) return;
  throw new SpecError(
    `encode takes a GPUCommandEncoder (got ${kindOf(given)}): device.createCommandEncoder()`,
  );
}
