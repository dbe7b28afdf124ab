// @ts-check
/** Whether a tuned table, which comes from a file, is one that this version of the library can follow. */
import { CONDITION_NAMES } from "./conditions.js";
import { SpecError } from "./errors.js";
import { CHOICES, KERNEL_ROWS, ROLE_FILES } from "./registry.js";
import { shown, shownWord } from "./shown.js";
import { sizesIn } from "./tuned.js";

/**
 * @typedef {import("./types.js").TunedTable} TunedTable
 * @typedef {import("./registry.js").KernelRow} KernelRow
 * @typedef {(value: any) => boolean} Test
 * @typedef {readonly [Test, string]} Rule and how it is told
 */

/** Larger numbers are no tile of anything. */
const MOST = 4096;

/** @type {Test} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @type {Record<string, Rule>} */
const IS = {
  object: [isObject, "an object"],
  list: [Array.isArray, "a list"],
  text: [(value) => typeof value === "string", "a text"],
  flag: [(value) => typeof value === "boolean", "true or false"],
  names: [
    (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
    "a list of names",
  ],
  count: [(value) => typeof value === "number" && value >= 0, "a number, 0 and up"],
  size: [
    (value) => Number.isInteger(value) && value >= 1 && value <= MOST,
    `a whole number, 1 to ${MOST}`,
  ],
};

/** Of conditions; those that are not listed, minX and maxX, count. @type {Record<string, Rule>} */
const CONDITION = {
  causal: IS.flag,
  dtype: IS.names,
  align: IS.size,
  adapter: IS.text,
  features: IS.names,
  matrix: IS.text,
};

/**
 * Refuses a table that this version of the library cannot follow.
 * @param {TunedTable} table
 * @returns {TunedTable} the same
 * @throws {SpecError} naming row, key, value and rule: an unknown kernel, a tile that the kernel does
 *   not have, a bad condition, a value of the wrong type
 */
export function checkTuned(table) {
  demand(IS.object, "tuned", table);
  const { kernels = {}, choices = [], strict = false } = table;
  demand(IS.flag, "tuned.strict", strict);
  demand(IS.object, "tuned.kernels", kernels);
  for (const [name, tiles] of Object.entries(kernels)) {
    const row = KERNEL_ROWS.find((kernel) => kernel.name === name);
    if (row === undefined) {
      const names = KERNEL_ROWS.map((kernel) => kernel.name).join(", ");
      throw new SpecError(`tuned: there is no kernel ${name}; it must be one of ${names}`);
    }
    demand(IS.list, `tuned.${name}`, tiles);
    tiles.forEach((tile, n) => {
      checkTile(row, tile, `tuned.${name}[${n}]`);
    });
  }
  demand(IS.list, "tuned.choices", choices);
  choices.forEach((choice, n) => {
    checkChoice(choice, `tuned.choices[${n}]`);
  });
  return table;
}

/** @param {KernelRow} row @param {Readonly<Record<string, unknown>>} tile @param {string} where */
function checkTile(row, tile, where) {
  demand(IS.object, where, tile);
  const { roles = {}, why = "", ...rest } = tile;
  demand(IS.text, `${where}.why`, why);
  const sizes = sizesIn(rest);
  checkConditions(
    Object.fromEntries(Object.entries(rest).filter(([name]) => !(name in sizes))),
    where,
  );
  const own = new Map(row.tiles.flatMap((shipped) => Object.entries(sizesIn(shipped))));
  const stranger = Object.keys(sizes).find((name) => !own.has(name));
  if (stranger !== undefined) {
    throw new SpecError(
      `${where}.${stranger}: tiles of ${row.name} are ${[...own.keys()].join(", ")}`,
    );
  }
  for (const [name, shipped] of own) {
    demand(typeof shipped === "boolean" ? IS.flag : IS.size, `${where}.${name}`, sizes[name]);
  }
  demand(IS.object, `${where}.roles`, roles);
  for (const [role, file] of Object.entries(/** @type {Record<string, string>} */ (roles))) {
    if (!row.roles?.[role]?.includes(file) || ROLE_FILES[file]?.role !== role) {
      throw new SpecError(
        `${where}.roles.${role}=${shownWord(file)}: ${row.name} has no such file`,
      );
    }
  }
}

/** @param {NonNullable<TunedTable["choices"]>[number]} choice @param {string} where */
function checkChoice(choice, where) {
  demand(IS.object, where, choice);
  const { kernel, op, why = "", ...conditions } = choice;
  if (!CHOICES.some((known) => known.name === kernel && known.op === op)) {
    throw new SpecError(`${where}: no kernel ${shownWord(kernel)} can be chosen for op=${op}`);
  }
  demand(IS.text, `${where}.why`, why);
  checkConditions(conditions, where);
}

/** @param {Record<string, unknown>} conditions @param {string} where */
function checkConditions(conditions, where) {
  for (const [name, value] of Object.entries(conditions)) {
    if (!CONDITION_NAMES.includes(name)) {
      throw new SpecError(`${where}.${name}: must be one of ${CONDITION_NAMES.join(", ")}`);
    }
    demand(CONDITION[name] ?? IS.count, `${where}.${name}`, value);
  }
}

/** @param {Rule} rule @param {string} where @param {unknown} value */
function demand([test, told], where, value) {
  if (test(value)) return;
  throw new SpecError(`${where}=${shown(value)}: must be ${told}`);
}
