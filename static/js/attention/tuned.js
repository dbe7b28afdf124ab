// @ts-check
/**
 * A tuned table: what a measurement on one adapter found better than the registry's own rows.
 *
 *     { "kernels": { "fa2_forward": [{ "maxD": 64, "TX": 8, …, "why": "1.21 ms, 1.40 before" }] },
 *       "choices": [{ "op": "forward", "maxT": 128, "kernel": "fa2_forward" }] }
 *
 * Its tiles stand in front of the registry's, its choices in front of the order of preference.
 * One that does not fit is passed over, one that does not compile left out (`withoutTile`).
 */
import { CONDITION_NAMES, unmet } from "./conditions.js";

/**
 * @typedef {import("./types.js").TunedTable} TunedTable
 * @typedef {import("./conditions.js").Conditions} Conditions
 * @typedef {import("./registry.js").Choice} Choice
 */

/** @type {TunedTable} */
export const UNTUNED = Object.freeze({ kernels: {}, choices: [] });

/** Numbers and flags of a tile: what the text and the registry's formulas may name. @param {object} tile */
export const sizesIn = (tile) =>
  Object.fromEntries(
    Object.entries(tile).filter(([name]) => ![...CONDITION_NAMES, "roles", "why"].includes(name)),
  );

/**
 * The choices that the table prefers for this request and device.
 * @param {readonly Choice[]} choices those that compute its operation
 * @param {TunedTable} tuned
 * @param {import("./spec.js").FullSpec} spec
 * @param {import("./types.js").DeviceFacts} facts
 */
export function preferred(choices, { choices: rows = [] }, spec, facts) {
  const wanted = rows
    .filter(({ kernel: _, op: __, ...conditions }) => {
      return unmet(/** @type {Conditions} */ (conditions), spec, facts, []) === null;
    })
    .map(({ kernel }) => kernel);
  return wanted.flatMap((name) => choices.filter((choice) => choice.name === name));
}

/**
 * The table without the tile that a pass was made of. The same table where it has none such (the tile
 * is the registry's own), and where it is strict.
 * @param {TunedTable} tuned
 * @param {Pick<import("./types.js").Pass, "kernel" | "tile" | "roles">} pass
 * @returns {TunedTable}
 */
export function withoutTile(tuned, { kernel, tile, roles }) {
  const rows = tuned.kernels?.[kernel] ?? [];
  const numbers = JSON.stringify(tile);
  const others = rows.filter((row) => {
    const asked = Object.entries(/** @type {Record<string, string>} */ (row.roles ?? {}));
    const same = JSON.stringify(sizesIn(row)) === numbers;
    return !(same && asked.every(([role, file]) => roles[role] === file));
  });
  if (tuned.strict || others.length === rows.length) return tuned;
  return { ...tuned, kernels: { ...tuned.kernels, [kernel]: others } };
}
