// @ts-check
/** The constants of a kernel: those that its text leaves open, and its overrides. */

import { evaluate, namesIn } from "../attention/size-expression.js";
import { valueMeant } from "./aliases.js";
import { ManifestError } from "./errors.js";
import { REAL_VALUES } from "./values.js";

/** @typedef {import("./types.js").ConstantValue} ConstantValue */
/** @typedef {import("./types.js").Expression} Expression */
/** @typedef {import("./reflect.js").Override} Override */

/**
 * @typedef {object} Chosen
 * @property {Record<string, import("../attention/compose.js").Constant>} text what the composer
 *   declares
 * @property {Record<string, number>} pipeline values of overrides, by their key
 * @property {Record<string, number>} numbers all of them, for expressions
 * @property {string[]} used names of values that they were made from
 */

/** What a text may mention without declaring it, as our own kernels do. */
const LEFT_OPEN = /** @type {const} */ ({ HEAD_DIM: "D", CAUSAL: "causal", BR: "BR", BC: "BC" });

/**
 * @param {Readonly<Record<string, ConstantValue>>} given by the manifest
 * @param {{code: string, overrides: readonly Override[], constants: Readonly<Record<string, number>>}
 *   } text
 * @param {Readonly<Record<string, number>>} values of the case
 * @returns {Chosen}
 * @throws {ManifestError} a constant that the text does not have, or that nothing gives a value
 */
export function chooseConstants(given, { code, overrides, constants }, values) {
  /** @type {Chosen} */
  const chosen = { text: {}, pipeline: {}, numbers: { ...constants }, used: [] };
  for (const { name, value } of overrides) {
    if (value !== undefined && !Number.isNaN(value)) chosen.numbers[name] = value;
  }
  const names = () => ({ ...values, ...chosen.numbers });
  /** @param {string} name @param {ConstantValue} constant */
  const set = (name, constant) => {
    const field = `constants.${name}`;
    const { value, type } = typed(constant);
    const override = overrides.find((one) => one.name === name);
    const kind = type ?? override?.type ?? typeOf(value);
    if (!override && !mentions(code, name)) {
      throw new ManifestError(
        field,
        `the text mentions no ${name}; its overrides are ${list(overrides)}`,
      );
    }
    if (typeof value === "string") chosen.used.push(...namesIn(value));
    const number = numberFor(field, value, kind, names());
    chosen.numbers[name] = number;
    if (override) chosen.pipeline[override.key] = number;
    else chosen.text[name] = literal(number, kind);
  };
  for (const [name, constant] of Object.entries(given)) set(name, constant);
  for (const [name, value] of Object.entries(LEFT_OPEN)) {
    const open = mentions(code, name) && !declares(code, name) && !(name in given);
    if (open && (value in names() || value === "causal")) set(name, value);
  }
  for (const { name, value } of overrides) {
    if (name in given) continue;
    const meant = valueMeant(name);
    const known = meant ?? (name in values ? name : undefined);
    if (known !== undefined && known in values) set(name, known);
    else if (value === undefined) {
      throw new ManifestError(
        `constants.${name}`,
        `the override ${name} has no default, and no value is known by that name; give it one`,
      );
    }
  }
  return chosen;
}

/**
 * The number that an expression gives to something of a WGSL type.
 *
 * @param {string} field of the manifest, for the message
 * @param {Expression | boolean} value
 * @param {string} type
 * @param {Readonly<Record<string, number>>} names
 * @throws {ManifestError} an unknown name, or a number that the type does not hold
 */
export function numberFor(field, value, type, names) {
  const real = type.startsWith("f");
  let number;
  try {
    number = typeof value === "string" ? evaluate(value, names, real) : Number(value);
  } catch (error) {
    throw new ManifestError(
      field,
      `${/** @type {Error} */ (error).message}; ${known(Object.keys(names))}`,
    );
  }
  const [low, high] = type === "i32" ? [-(2 ** 31), 2 ** 31] : [0, type === "bool" ? 2 : 2 ** 32];
  const fits = real ? Number.isFinite(number) : number >= low && number < high;
  if (!fits || (!real && !Number.isInteger(number))) {
    throw new ManifestError(
      field,
      `${JSON.stringify(value)} is ${number} here, which is no ${type}`,
    );
  }
  return number;
}

/** Which names there are, without those of strides. @param {readonly string[]} names */
export function known(names) {
  const rest = /(?<!causal)_offset$|_(?:batch|row|head|key|workgroup|width)$|^slices$/;
  const plain = names.filter((name) => !rest.test(name));
  return `the names are ${plain.join(", ")} and strides as q_row`;
}

/** @param {ConstantValue} constant @returns {{value: Expression | boolean, type?: string}} */
const typed = (constant) => (typeof constant === "object" ? constant : { value: constant });

/** @param {Expression | boolean} value */
function typeOf(value) {
  if (typeof value === "boolean" || value === "causal") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "u32" : "f32";
  if (namesIn(value).some((name) => REAL_VALUES.includes(name))) return "f32";
  return value === "causal_offset" ? "i32" : "u32";
}

/** @param {number} number @param {string} type */
function literal(number, type) {
  if (type === "bool") return number !== 0;
  if (type === "u32") return number;
  const real = type.startsWith("f");
  const digits = real && Number.isInteger(number) ? `${number}.0` : `${number}`;
  return { type, value: type === "i32" ? `i32(${number})` : digits };
}

/** @param {string} code @param {string} name */
const mentions = (code, name) => new RegExp(`\\b${name}\\b`).test(code);

/** @param {string} code @param {string} name */
const declares = (code, name) => new RegExp(`\\b(?:const|override|alias)\\s+${name}\\b`).test(code);

/** @param {readonly Override[]} overrides */
const list = (overrides) => overrides.map(({ name }) => name).join(", ") || "none";
