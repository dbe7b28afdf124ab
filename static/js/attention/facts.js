// @ts-check
/** What a plan needs to know of a device, or of an adapter that has not yielded one yet. */

/**
 * @typedef {import("./types.js").Described} Described
 * @typedef {import("./types.js").DeviceFacts} DeviceFacts
 * @typedef {import("./types.js").Limits} Limits
 */

/** Names of rasterisers: not every browser marks them as fallback adapters. */
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|softpipe|basic render|software/i;

/** Features that a kernel of the registry may ask for, all optional. */
const USEFUL = ["subgroups", "shader-f16", "chromium-experimental-subgroup-matrix"];

/**
 * The features worth requesting from an adapter: those that it has and that some kernel uses.
 * Pass the result as `requiredFeatures`.
 * @param {Iterable<string>} features of the adapter
 * @returns {GPUFeatureName[]}
 */
export function usefulFeatures(features) {
  const has = new Set(features);
  return /** @type {GPUFeatureName[]} */ (USEFUL.filter((name) => has.has(name)));
}

/**
 * Whether an adapter computes on the CPU.
 * @param {{vendor?: string, architecture?: string, device?: string, description?: string,
 *   isFallbackAdapter?: boolean}} info
 */
export function isSoftware(info) {
  const { vendor, architecture, device, description } = info;
  const names = [vendor, architecture, device, description].join(" ");
  return info.isFallbackAdapter === true || SOFTWARE.test(names);
}

/**
 * @param {Described} described a GPUDevice, a GPUAdapter, or as much of one as is known
 * @returns {DeviceFacts}
 */
export function factsOf({ limits, features = [], info, adapterInfo = info ?? {} }) {
  const has = [...features];
  const subgroups = has.includes("subgroups");
  const matrices = has.includes("chromium-experimental-subgroup-matrix");
  return {
    limits,
    features: has,
    vendor: adapterInfo.vendor ?? "",
    software: isSoftware(adapterInfo),
    // Sizes that are not told count as none: a kernel is right for every size or is not chosen.
    subgroupMinSize: subgroups ? (adapterInfo.subgroupMinSize ?? 0) : 0,
    subgroupMaxSize: subgroups ? (adapterInfo.subgroupMaxSize ?? 0) : 0,
    matrices: matrices ? (adapterInfo.subgroupMatrixConfigs ?? []).map(matrixName) : [],
  };
}

/**
 * A device whose subgroups turned out to be other than it says: kernels see none.
 * @param {DeviceFacts} facts
 * @returns {DeviceFacts}
 */
export const withoutSubgroups = (facts) => ({
  ...facts,
  subgroupMinSize: 0,
  subgroupMaxSize: 0,
  matrices: [],
});

/**
 * A device whose browser writes subgroup matrices otherwise than this library.
 * @param {DeviceFacts} facts
 * @returns {DeviceFacts}
 */
export const withoutMatrices = (facts) => ({ ...facts, matrices: [] });

/** As conditions write it: "f16:f32:16x16x16". @param {import("./types.js").MatrixConfig} config */
const matrixName = ({ componentType, resultComponentType, M, N, K }) =>
  `${componentType}:${resultComponentType}:${M}x${N}x${K}`;
