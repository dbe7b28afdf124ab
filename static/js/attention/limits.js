// @ts-check
/** Which limits to ask an adapter for, before there is a device. */
import { boundBytes, callersTooLarge, tooFar } from "./buffer-sizes.js";
import { checkTuned } from "./check-tuned.js";
import { choose } from "./choose.js";
import { mustHaveLimits } from "./device-given.js";
import { SpecError, Unsupported } from "./errors.js";
import { factsOf } from "./facts.js";
import { knownKeys } from "./known-keys.js";
import { shown } from "./shown.js";
import { completeSpec } from "./spec.js";

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").Described} Described
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

/** What decides how large a tile may be: asked for as far as the adapter goes. */
const TILE_LIMITS = /** @type {const} */ ([
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
]);

/**
 * The limits to request from an adapter so that the best plan for `spec` fits: those above the
 * defaults, never more than the adapter has. Pass the result as `requiredLimits`.
 * @param {Spec} spec
 * @param {Described} adapter a GPUAdapter, or as much of one as is known
 * @param {{extraBytes?: number, kernel?: string, tuned?: import("./types.js").TunedTable}} [options] what the caller adds to each of its own
 *   buffers, guards for example; the kernel that will be asked for; the table of the attention
 * @returns {Record<string, number>} possibly empty
 * @throws {SpecError} the request contradicts itself, the table names what this library does not
 *   have, or `adapter` has no limits
 * @throws {Unsupported} no kernel takes it on this adapter, or the adapter does not hold its buffers
 */
export function requiredLimits(spec, adapter, options = {}) {
  knownKeys("options", options, ["extraBytes", "kernel", "tuned"]);
  const { extraBytes = 0, kernel = "auto", tuned } = options;
  mustHaveLimits("requiredLimits", adapter);
  if (!Number.isInteger(extraBytes) || extraBytes < 0) {
    throw new SpecError(`extraBytes=${shown(extraBytes)}: must be a whole number, 0 and up`);
  }
  const full = completeSpec(spec);
  const { fits, scratch } = choose(full, factsOf(adapter), kernel, tuned && checkTuned(tuned));
  const callers = Object.fromEntries(
    Object.entries(boundBytes(fits, full)).map(([name, bytes]) => [name, bytes + extraBytes]),
  );
  const why = callersTooLarge(callers, adapter.limits, full) ?? tooFar(full);
  if (why !== null) throw new Unsupported(why);
  const largest = Math.max(...Object.values(scratch), ...Object.values(callers));
  /** @type {Record<string, number>} */
  const wanted = {};
  for (const name of TILE_LIMITS) {
    if (adapter.limits[name] > DEFAULT_LIMITS[name]) wanted[name] = adapter.limits[name];
  }
  for (const name of /** @type {const} */ (["maxStorageBufferBindingSize", "maxBufferSize"])) {
    if (largest > DEFAULT_LIMITS[name]) wanted[name] = largest;
  }
  return wanted;
}
