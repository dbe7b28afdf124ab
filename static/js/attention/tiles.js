// @ts-check
/** Which tile of a kernel fits a request and a device, and which files play the kernel's roles. */
import { unmet } from "./conditions.js";
import { ROLE_FILES } from "./registry.js";
import { evaluateSize } from "./size-expression.js";
import { sizesIn } from "./tuned.js";

/**
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./types.js").DeviceFacts} DeviceFacts
 * @typedef {import("./registry.js").KernelRow} KernelRow
 * @typedef {import("./registry.js").Tile} Tile
 * @typedef {object} Fit a kernel with everything decided that goes into its text
 * @property {KernelRow} row
 * @property {Readonly<Record<string, unknown>>} tile the numbers of the tile row
 * @property {string} why the figure that justifies the tile; "" = none is told
 * @property {Readonly<Record<string, number | boolean>>} constants
 * @property {Readonly<Record<string, string>>} roles file by role
 * @property {readonly string[]} enable WGSL extensions
 * @property {number} invocations of a workgroup
 * @property {Readonly<Record<string, number>>} workgroupBytes of each array in workgroup memory
 */

/**
 * The first tile row that fits.
 * @param {KernelRow} row
 * @param {FullSpec} spec
 * @param {DeviceFacts} facts
 * @param {readonly Tile[]} [tiles] in order of preference
 * @returns {Fit | string} or why not even the last one does
 */
export function fitTile(row, spec, facts, tiles = row.tiles) {
  const tensors = Object.keys(row.bindings);
  const no = unmet(row.needs ?? {}, spec, facts, tensors);
  if (no !== null) return `kernel ${row.name} does not fit, ${no}`;
  let why = `kernel ${row.name} has no tile`;
  for (const tile of tiles) {
    const other = unmet(tile, spec, facts, tensors);
    if (other !== null) {
      why = `kernel ${row.name} has no tile for this, ${other}`;
      continue;
    }
    const roles = castRoles(row, tile, spec, facts);
    if (typeof roles === "string") {
      why = `kernel ${row.name} does not fit, ${roles}`;
      continue;
    }
    const fit = measure(row, tile, roles, spec);
    const short = exceeded(fit, spec, facts.limits);
    if (short === null) return fit;
    why = short;
  }
  return why;
}

/**
 * @param {KernelRow} row @param {Tile} tile @param {FullSpec} spec @param {DeviceFacts} facts
 * @returns {Record<string, string> | string}
 */
function castRoles({ bindings, roles: candidates = {} }, tile, spec, facts) {
  /** @type {Record<string, string>} */
  const cast = {};
  for (const [role, files] of Object.entries(candidates)) {
    const asked = tile.roles?.[role];
    let why = "";
    const file = (asked === undefined ? files : [asked]).find((path) => {
      why = unmet(ROLE_FILES[path], spec, facts, Object.keys(bindings)) ?? "";
      return why === "";
    });
    if (file === undefined) return `nothing can play ${role}: ${why}`;
    cast[role] = file;
  }
  return cast;
}

/**
 * @param {KernelRow} row @param {Tile} tile @param {Record<string, string>} roles
 * @param {FullSpec} spec
 * @returns {Fit}
 */
function measure(row, tile, roles, spec) {
  const given = Object.entries(sizesIn(tile));
  const flags = given.filter(([, value]) => typeof value === "boolean");
  /** @type {Record<string, number>} */
  const names = {
    HEAD_DIM: spec.D,
    group: spec.H / spec.Hkv,
    ...Object.fromEntries(given.flatMap(([n, v]) => (typeof v === "number" ? [[n, v]] : []))),
  };
  for (const [name, size] of Object.entries(row.derived)) names[name] = evaluateSize(size, names);
  const files = Object.values(roles).map((path) => ROLE_FILES[path]);
  const memory = [row, ...files].flatMap(({ workgroupMemory = {} }) =>
    Object.entries(workgroupMemory),
  );
  return {
    row,
    tile: sizesIn(tile),
    why: tile.why ?? "",
    constants: Object.fromEntries([
      ...Object.entries(names).filter(([name]) => /^[A-Z]/.test(name)),
      ...flags,
      ...(row.masked === false ? [] : [["CAUSAL", spec.causal]]),
    ]),
    roles,
    enable: [...new Set([row, ...files].flatMap(({ enable = [] }) => enable))],
    invocations: evaluateSize(row.invocations, names),
    workgroupBytes: Object.fromEntries(
      memory.map(([name, size]) => [name, evaluateSize(size, names)]),
    ),
  };
}

/**
 * What the device offers too little of, or null.
 * @param {Fit} fit @param {FullSpec} spec @param {import("./types.js").Limits} limits
 */
function exceeded({ row, workgroupBytes, invocations }, { D }, limits) {
  const { name, bindings } = row;
  // WebGPU counts each variable in whole 16 bytes.
  const bytes = Object.values(workgroupBytes).reduce((sum, n) => sum + Math.ceil(n / 16) * 16, 0);
  const most = Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX);
  if (bytes > limits.maxComputeWorkgroupStorageSize || invocations > most) {
    return (
      `kernel ${name} with HEAD_DIM=${D} needs ${bytes} bytes of workgroup memory and ` +
      `${invocations} invocations, this device offers ${limits.maxComputeWorkgroupStorageSize} ` +
      `and ${most}`
    );
  }
  const buffers = Object.keys(bindings).length;
  if (buffers > limits.maxStorageBuffersPerShaderStage) {
    return (
      `kernel ${name} binds ${buffers} storage buffers, this device allows ` +
      `${limits.maxStorageBuffersPerShaderStage} (maxStorageBuffersPerShaderStage)`
    );
  }
  return null;
}
