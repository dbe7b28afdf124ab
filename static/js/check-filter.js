// @ts-check
import { AXES, checksOf } from "./checks.js";

/** Which lines of the list a person wants to see: words over case and output, and a status. */

/** @typedef {import("./checks.js").Entry} Entry */
/** @typedef {import("./checks.js").Check} Check */
/** @typedef {"all" | "failed" | "passed" | "skipped"} Group */

/** The statuses behind each choice; `all` has the cases that wait, too. */
const GROUPS = Object.freeze({
  failed: ["fail", "vacuous", "error"],
  passed: ["pass"],
  skipped: ["skip"],
});

/**
 * Whether a status belongs to a choice.
 *
 * @param {Group} group
 * @param {Check["status"]} status
 */
export function inGroup(group, status) {
  return group === "all" || GROUPS[group].includes(status);
}

/**
 * What a filter's text lets through: every word of it must fit. A word that is an output's name
 * means that output; one with `*` or `?` is a pattern for the whole case id, as on the command
 * line; any other lies somewhere in the id or begins the output's name. Capitals do not matter.
 *
 * @param {string} text
 * @returns {(id: string, output: string) => boolean}
 */
export function matcher(text) {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map(wordTest);
  return (id, output) => {
    const lower = id.toLowerCase();
    return tests.every((test) => test(lower, output));
  };
}

/**
 * @param {string} word
 * @returns {(id: string, output: string) => boolean}
 */
function wordTest(word) {
  if (word in AXES) return (_, output) => output === word;
  if (/[*?]/.test(word)) {
    const literal = word.replace(/[.+^${}()|[\]\\]/g, "\\$&");
    const pattern = new RegExp(`^${literal.replace(/\*+/g, ".*").replaceAll("?", ".")}$`);
    return (id) => pattern.test(id);
  }
  return (id, output) => id.includes(word) || output.startsWith(word);
}

/**
 * How many lines each choice has.
 *
 * @param {readonly Entry[]} entries
 * @param {(id: string, output: string) => boolean} fits
 * @returns {Record<Group, number>}
 */
export function countGroups(entries, fits) {
  const count = { all: 0, failed: 0, passed: 0, skipped: 0 };
  for (const entry of entries) {
    for (const { name, status } of checksOf(entry)) {
      if (!fits(entry.case, name)) continue;
      count.all += 1;
      for (const group of /** @type {(keyof typeof GROUPS)[]} */ (Object.keys(GROUPS))) {
        if (GROUPS[group].includes(status)) count[group] += 1;
      }
    }
  }
  return count;
}

/**
 * Whether a person has to look at it.
 *
 * @param {Entry} entry
 */
export function isWrong(entry) {
  return checksOf(entry).some(({ status }) => inGroup("failed", status));
}
