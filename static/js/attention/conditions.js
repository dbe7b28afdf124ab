// @ts-check
/** When a row of the registry applies: what it asks of the request and of the device. */

/**
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./types.js").DeviceFacts} DeviceFacts
 * @typedef {object} Conditions all of them must hold; what is left out is not asked
 * @property {number} [minD]
 * @property {number} [maxD]
 * @property {number} [minT] T being the larger of Tq and Tk
 * @property {number} [maxT]
 * @property {number} [minTq]
 * @property {number} [maxTq]
 * @property {number} [minTk]
 * @property {number} [maxTk]
 * @property {number} [minHeads] heads of all batches, B·H
 * @property {number} [maxHeads]
 * @property {number} [minRows] query rows of all heads, B·H·Tq: how much there is to share out
 * @property {number} [maxRows]
 * @property {boolean} [causal]
 * @property {string[]} [dtype]
 * @property {number} [align] divides D and every stride and offset of the tensors in use
 * @property {string} [adapter] "software", "hardware" or the adapter's vendor
 * @property {string[]} [features] of the device
 * @property {number} [subgroups] the smallest subgroup must hold so many invocations
 * @property {number} [maxSubgroups] and the largest no more than so many
 * @property {string} [matrix] a subgroup matrix of the device, "f16:f32:16x16x16"
 */

/** What minX and maxX bound. @type {readonly [string, (spec: FullSpec) => number][]} */
const BOUNDED = [
  ["D", ({ D }) => D],
  ["T", ({ Tq, Tk }) => Math.max(Tq, Tk)],
  ["Tq", ({ Tq }) => Tq],
  ["Tk", ({ Tk }) => Tk],
  ["Heads", ({ B, H }) => B * H],
  ["Rows", ({ B, H, Tq }) => B * H * Tq],
];

/** The names of all conditions; other names of a tile row are its constants. */
export const CONDITION_NAMES = Object.freeze([
  ...BOUNDED.flatMap(([name]) => [`min${name}`, `max${name}`]),
  ...["causal", "dtype", "align", "adapter", "features", "subgroups", "maxSubgroups", "matrix"],
]);

/**
 * Why a row does not apply, or null.
 * @param {Conditions} conditions
 * @param {FullSpec} spec
 * @param {DeviceFacts} facts
 * @param {readonly string[]} tensors whose alignment matters
 * @returns {string | null} "D=5: takes 64 and up", to be followed by a way out
 */
export function unmet(conditions, spec, facts, tensors) {
  return unmetRequest(conditions, spec, tensors) ?? unmetDevice(conditions, facts);
}

/**
 * @param {Conditions} conditions @param {FullSpec} spec @param {readonly string[]} tensors
 * @returns {string | null}
 */
function unmetRequest(conditions, spec, tensors) {
  const bounds = /** @type {Record<string, number>} */ (/** @type {unknown} */ (conditions));
  for (const [name, measure] of BOUNDED) {
    const value = measure(spec);
    const { [`min${name}`]: least, [`max${name}`]: most } = bounds;
    if (value < least) return `${name}=${value}: takes ${least} and up`;
    if (value > most) return `${name}=${value}: takes up to ${most}`;
  }
  const { causal, dtype, align } = conditions;
  if (causal !== undefined && causal !== spec.causal) {
    return `causal=${Number(spec.causal)}: takes causal=${Number(causal)} only`;
  }
  if (dtype !== undefined && !dtype.includes(spec.dtype)) {
    return `dtype=${spec.dtype}: takes ${dtype.join(", ")}`;
  }
  return align === undefined ? null : misaligned(align, spec, tensors);
}

/** @param {number} align @param {FullSpec} spec @param {readonly string[]} tensors */
function misaligned(align, { D, strides }, tensors) {
  if (D % align !== 0) return `D=${D}: takes multiples of ${align}`;
  for (const [tensor, steps] of Object.entries(strides)) {
    if (!tensors.includes(tensor)) continue;
    for (const [name, elements] of Object.entries(steps)) {
      if (elements % align !== 0) {
        return `strides.${tensor}.${name}=${elements}: takes multiples of ${align}`;
      }
    }
  }
  return null;
}

/** @param {Conditions} conditions @param {DeviceFacts} facts @returns {string | null} */
function unmetDevice({ adapter, features = [], subgroups, maxSubgroups, matrix }, facts) {
  const kind = facts.software ? "software" : "hardware";
  if (adapter !== undefined && adapter !== kind && adapter !== facts.vendor) {
    return `this adapter is ${kind} (${facts.vendor || "no vendor given"}): takes ${adapter}`;
  }
  const missing = features.find((name) => !facts.features.includes(name));
  if (missing !== undefined) return `the device lacks the feature ${missing}`;
  if (subgroups !== undefined && facts.subgroupMinSize < subgroups) {
    return `subgroups of this device may be as small as ${facts.subgroupMinSize} (0 = none or not as reported): takes ${subgroups} and up`;
  }
  if (maxSubgroups !== undefined && facts.subgroupMaxSize > maxSubgroups) {
    return `subgroups of this device may be as large as ${facts.subgroupMaxSize}: takes up to ${maxSubgroups}`;
  }
  if (matrix !== undefined && !facts.matrices.includes(matrix)) {
    return `the device multiplies no subgroup matrices ${matrix} (it has ${facts.matrices.join(", ") || "none"})`;
  }
  return null;
}
