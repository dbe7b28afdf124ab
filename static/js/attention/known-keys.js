// @ts-check
/** Objects of the caller whose words are few: one that is not among them is a slip, and refused. */
import { SpecError } from "./errors.js";
import { shown } from "./shown.js";

/**
 * @template T
 * @param {string} what as messages name the object
 * @param {T} object
 * @param {readonly string[]} known
 * @returns {T} the same
 * @throws {SpecError} it is no object, or has another key
 */
export function knownKeys(what, object, known) {
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    throw new SpecError(`${what}=${shown(object)}: must be an object of ${known.join(", ")}`);
  }
  const stranger = Object.keys(object).find((key) => !known.includes(key));
  if (stranger !== undefined) {
    throw new SpecError(`${what}.${stranger}: there is no such key, it has ${known.join(", ")}`);
  }
  return object;
}

/**
 * @param {string} name @param {unknown} value
 * @throws {SpecError} it is neither true nor false
 */
export function mustBeFlag(name, value) {
  if (typeof value === "boolean") return;
  throw new SpecError(`${name}=${shown(value)}: must be true or false`);
}
