// Every text that the registry can lead to: each kernel with each of its tile rows and role files.
import { compose, withoutComments } from "../../static/js/attention/compose.js";
import { factsOf } from "../../static/js/attention/facts.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { KERNEL_ROWS } from "../../static/js/attention/registry.js";
import { evaluateSize } from "../../static/js/attention/size-expression.js";
import { completeSpec } from "../../static/js/attention/spec.js";
import { fitTile } from "../../static/js/attention/tiles.js";
import { SHADERS } from "./attention-files.js";

/** The most that a browser is known to offer: an H200's. */
export const LARGE_LIMITS = {
  ...DEFAULT_LIMITS,
  maxComputeWorkgroupStorageSize: 49152,
  maxComputeInvocationsPerWorkgroup: 1024,
  maxComputeWorkgroupSizeX: 1024,
};

/** A device that has whatever these conditions ask for. @param {any} conditions */
export function deviceFor({
  adapter = "hardware",
  features = [],
  subgroups = 4,
  maxSubgroups,
  matrix,
}) {
  const facts = factsOf({ limits: LARGE_LIMITS });
  return {
    ...facts,
    features: [...features, "shader-f16", "subgroups"],
    vendor: adapter,
    software: adapter === "software",
    subgroupMinSize: subgroups,
    subgroupMaxSize: maxSubgroups ?? Math.max(64, subgroups),
    matrices: matrix === undefined ? [] : [matrix],
  };
}

/** All ways to give a role's files to a kernel. @param {Record<string, string[]>} roles */
function casts(roles) {
  return Object.entries(roles).reduce(
    (some, [role, files]) => some.flatMap((cast) => files.map((f) => ({ ...cast, [role]: f }))),
    /** @type {Record<string, string>[]} */ ([{}]),
  );
}

/**
 * All files that may play the roles at the largest head size of a tile, the first that may at others.
 * @param {(row: any, tile: any) => readonly number[]} [sizesOf] head sizes of a tile row
 * @returns {Generator<import("../../static/js/attention/tiles.js").Fit>}
 */
export function* variants(sizesOf = (_, { maxD }) => [maxD]) {
  for (const row of KERNEL_ROWS) {
    for (const tile of row.tiles) {
      const conditions = { ...row.needs, ...tile };
      const cast = casts(row.roles ?? {}).filter((roles) =>
        Object.entries(tile.roles ?? {}).every(([role, file]) => roles[role] === file),
      );
      let found = 0;
      for (const D of sizesOf(row, tile)) {
        const before = found;
        for (const roles of cast) {
          if (D !== tile.maxD && found > before) break;
          for (const dtype of conditions.dtype ?? ["f32", "f16"]) {
            const T = Math.max(conditions.minTq ?? 1, conditions.minT ?? 1);
            const { causal = true } = conditions;
            const Tk = Math.max(T, conditions.minTk ?? 1);
            const H = Math.ceil((conditions.minRows ?? 1) / T);
            const spec = completeSpec({ H, Tq: T, Tk, D, dtype, causal });
            const fit = fitTile(row, spec, deviceFor(conditions), [{ ...tile, roles }]);
            if (typeof fit !== "string") found++;
            if (typeof fit !== "string") yield fit;
          }
        }
      }
      if (found === 0) throw new Error(`${row.name}: nothing leads to ${JSON.stringify(tile)}`);
    }
  }
}

/**
 * The names that an entry point reaches, itself first.
 * @param {string} code WGSL without comments
 * @param {string} entry
 */
export function reachable(code, entry) {
  const functions = new Map(
    [...code.matchAll(/\bfn\s+(\w+)\s*\(/g)].map((start) => [start[1], namesIn(code, start.index)]),
  );
  const reached = new Set([entry]);
  for (const name of reached) for (const other of functions.get(name) ?? []) reached.add(other);
  return reached;
}

/** The names in a function, up to its closing brace. @param {string} code @param {number} start */
function namesIn(code, start) {
  let depth = 0;
  for (let n = code.indexOf("{", start); n < code.length; n++) {
    depth += Number(code[n] === "{") - Number(code[n] === "}");
    if (depth === 0) return code.slice(start, n).match(/[A-Za-z_]\w*/g) ?? [];
  }
  throw new Error(`a function at ${start} has no end`);
}

/** The composed text without comments. @param {import("../../static/js/attention/tiles.js").Fit} fit */
export const codeOf = ({ row, constants, ...options }) =>
  withoutComments(compose(row.file, constants, SHADERS, options).text);

/** Constants of a text whose values are sizes. @param {string} code */
export function constantsOf(code) {
  /** @type {Record<string, number>} */
  const values = {};
  const declared = [...code.matchAll(/\bconst\s+(\w+)(?:\s*:\s*u32)?\s*=\s*([^;]+);/g)];
  for (let round = 0; round < 5; round++) {
    for (const [, name, size] of declared) {
      try {
        values[name] = evaluateSize(size, values);
      } catch {
        // not a size, or of a constant that a later round knows
      }
    }
  }
  return values;
}
