// @ts-check

/** What decides how large a kernel may be; the adapter's own are asked for. */
const LIMITS = [
  "maxBufferSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupStorageSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
];

/**
 * The limits to request for a kernel of which nothing is known yet: all that the adapter has.
 *
 * @param {Readonly<Record<string, number>>} available
 */
export const ownLimits = (available) =>
  Object.fromEntries(LIMITS.filter((n) => n in available).map((n) => [n, available[n]]));
