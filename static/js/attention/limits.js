// @ts-check
/** Which limits to ask an adapter for, before there is a device. */
import { bufferBytes, scratchBytes } from "./buffer-sizes.js";
import { chooseKernel } from "./registry.js";
import { completeSpec } from "./spec.js";

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").Limits} Limits
 */

/** What WebGPU guarantees everywhere; a device made without requiredLimits has these. */
export const DEFAULT_LIMITS = Object.freeze({
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupsPerDimension: 65535,
  maxStorageBuffersPerShaderStage: 8,
  maxStorageBufferBindingSize: 134217728,
  maxBufferSize: 268435456,
});

/**
 * The limits to request from an adapter so that a plan for `spec` fits: those above the defaults,
 * never more than the adapter has. Pass the result as `requiredLimits`.
 * @param {Spec} spec
 * @param {Limits} adapterLimits
 * @param {{extraBytes?: number, kernel?: string}} [options] what the caller adds to each of its own
 *   buffers, guards for example; the kernel that will be asked for
 * @returns {Record<string, number>} possibly empty
 * @throws {import("./errors.js").SpecError} the request contradicts itself
 * @throws {import("./errors.js").Unsupported} no kernel takes it
 */
export function requiredLimits(spec, adapterLimits, { extraBytes = 0, kernel = "auto" } = {}) {
  const full = completeSpec(spec);
  const own = Object.values(scratchBytes(chooseKernel(full, kernel), full));
  const callers = Object.values(bufferBytes(full)).map((bytes) => bytes + extraBytes);
  const largest = Math.max(...own, ...callers);
  /** @type {Record<string, number>} */
  const wanted = {};
  for (const name of /** @type {const} */ (["maxStorageBufferBindingSize", "maxBufferSize"])) {
    if (largest > DEFAULT_LIMITS[name]) wanted[name] = Math.min(largest, adapterLimits[name]);
  }
  return wanted;
}
