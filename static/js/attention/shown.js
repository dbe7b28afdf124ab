// @ts-check
/** A value of a caller's as messages show it: anything at all, on one line, and never an error itself. */

/** Longer ones are cut. */
const MOST = 60;

/**
 * Texts in quotes, so that "4" is not taken for 4.
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  if (typeof value === "bigint") return `${value}n`.slice(0, MOST);
  if (typeof value === "function") return `function ${value.name}`.slice(0, MOST);
  if (typeof value !== "object" && typeof value !== "string") return String(value).slice(0, MOST);
  try {
    return JSON.stringify(value).slice(0, MOST);
  } catch {
    return kindOf(value); // it holds itself, or a bigint
  }
}

/**
 * The same where one of a few words was meant: those need no quotes.
 * @param {unknown} value
 */
export const shownWord = (value) =>
  typeof value === "string" ? value.slice(0, MOST) : shown(value);

/**
 * What a value is, for a place where something else was meant: "GPUAdapter", "Promise", "null".
 * @param {unknown} value
 * @returns {string}
 */
export function kindOf(value) {
  if (typeof value !== "object" || value === null) return shown(value);
  return value.constructor?.name || "object";
}
