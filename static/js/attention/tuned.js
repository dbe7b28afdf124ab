// @ts-check
/**
 * A tuned table: what a measurement on one adapter found better than the registry's own rows.
 *
 *     { "kernels": { "fa2_forward": [{ "maxD": 64, "TX": 8, …, "why": "1.21 ms, 1.40 before" }] },
 *       "choices": [{ "op": "forward", "maxT": 128, "kernel": "fa2_forward" }] }
 *
 * Its tiles stand in front of the registry's, its choices in front of the order of preference.
 */
import { CONDITION_NAMES, unmet } from "./conditions.js";
import { SpecError } from "./errors.js";
import { CHOICES, KERNEL_ROWS, ROLE_FILES } from "./registry.js";

/**
 * @typedef {import("./types.js").TunedTable} TunedTable
 * @typedef {import("./conditions.js").Conditions} Conditions
 * @typedef {import("./registry.js").Choice} Choice
 * @typedef {import("./registry.js").KernelRow} KernelRow
 * @typedef {import("./registry.js").Tile} Tile
 */

/** Larger numbers are no tile of anything. */
const MOST = 4096;

/** @type {TunedTable} */
export const UNTUNED = Object.freeze({ kernels: {}, choices: [] });

/**
 * Refuses a table that this version of the library cannot follow.
 * @param {TunedTable} table
 * @returns {TunedTable} the same
 * @throws {SpecError} an unknown kernel, a tile that the kernel does not have, a bad condition
 */
export function checkTuned(table) {
  for (const [name, tiles] of Object.entries(table.kernels ?? {})) {
    const row = KERNEL_ROWS.find((kernel) => kernel.name === name);
    if (row === undefined) {
      const names = KERNEL_ROWS.map((kernel) => kernel.name).join(", ");
      throw new SpecError(`tuned: there is no kernel ${name}; it must be one of ${names}`);
    }
    tiles.forEach((tile, n) => {
      checkTile(row, /** @type {Tile} */ (tile), `tuned.${name}[${n}]`);
    });
  }
  (table.choices ?? []).forEach(({ kernel, op, why: _, ...conditions }, n) => {
    if (!CHOICES.some((choice) => choice.name === kernel && choice.op === op)) {
      throw new SpecError(`tuned.choices[${n}]: no kernel ${kernel} can be chosen for op=${op}`);
    }
    checkConditions(conditions, `tuned.choices[${n}]`);
  });
  return table;
}

/** @param {KernelRow} row @param {Tile} tile @param {string} where */
function checkTile(row, { roles = {}, why: _, ...tile }, where) {
  const own = new Set(row.tiles.flatMap((shipped) => Object.keys(sizesIn(shipped))));
  const { conditions, sizes } = { conditions: conditionsIn(tile), sizes: sizesIn(tile) };
  checkConditions(conditions, where);
  const stranger = Object.keys(sizes).find((name) => !own.has(name));
  if (stranger !== undefined) {
    throw new SpecError(`${where}.${stranger}: tiles of ${row.name} are ${[...own].join(", ")}`);
  }
  for (const name of own) {
    const value = sizes[name];
    const whole = Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MOST;
    if (!whole && typeof value !== "boolean") {
      throw new SpecError(`${where}.${name}=${value}: must be a whole number, 1 to ${MOST}`);
    }
  }
  for (const [role, file] of Object.entries(roles)) {
    if (!row.roles?.[role]?.includes(file) || ROLE_FILES[file]?.role !== role) {
      throw new SpecError(`${where}.roles.${role}=${file}: ${row.name} has no such file`);
    }
  }
}

/** @param {object} conditions @param {string} where */
function checkConditions(conditions, where) {
  for (const [name, value] of Object.entries(conditions)) {
    if (!CONDITION_NAMES.includes(name)) {
      throw new SpecError(`${where}.${name}: must be one of ${CONDITION_NAMES.join(", ")}`);
    }
    if (/^m(in|ax)/.test(name) && !(value >= 0)) {
      throw new SpecError(`${where}.${name}=${value}: must be a number, 0 and up`);
    }
  }
}

/** @param {object} tile */
const conditionsIn = (tile) =>
  Object.fromEntries(Object.entries(tile).filter(([name]) => CONDITION_NAMES.includes(name)));

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
