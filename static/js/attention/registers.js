// @ts-check
/**
 * Arrays that are to stay in registers, written as structures.
 *
 *     alias Scores = array<f32, ROWS * KEYS>;  // @registers
 *
 * becomes `struct Scores { m0: f32, m1: f32, … }` and `S[r * KEYS + n]`, in loops that are written
 * out, becomes `S.m5`. A driver may compile a function with any array in it by other rules than one
 * without: 36.9 TFLOP/s against 35.5 on an H200, for a loop that names every element by a constant.
 * The text is valid WGSL with or without it and means the same; where some index is no constant (a
 * trace's loops) the array stays one.
 */
import { evaluateSize } from "./size-expression.js";

/** An array that is marked. */
export const REGISTERS =
  /\balias\s+(\w+)\s*=\s*array<\s*([\w<>]+)\s*,\s*([^;]+?)\s*>\s*;[ \t]*\/\/[ \t]*@registers[ \t]*$/gm;

/**
 * @param {string} text WGSL, its loops written out
 * @param {string} code the same with comments blanked out, place for place
 * @param {Readonly<Record<string, number>>} constants that sizes and indices may name
 * @returns {string} the same number of lines
 */
export function inRegisters(text, code, constants) {
  /** @type {{start: number, end: number, by: string}[]} */
  const edits = [];
  for (const mark of text.matchAll(REGISTERS)) {
    const [, alias, element, size] = mark;
    const members = accesses(code, namesOf(code, alias), constants);
    if (members === null) continue;
    const count = evaluateSize(size, constants);
    const fields = Array.from({ length: count }, (_, n) => `m${n}: ${element}`).join(", ");
    const end = mark.index + mark[0].indexOf(";") + 1;
    edits.push({ start: mark.index, end, by: `struct ${alias} { ${fields} }` }, ...members);
  }
  return withEdits(text, edits);
}

/**
 * The text with places replaced that do not overlap. Pieces are joined once: a splice for each of
 * thousands of places would copy the whole text as often.
 * @param {string} text
 * @param {{start: number, end: number, by: string}[]} edits
 */
function withEdits(text, edits) {
  edits.sort((a, b) => a.start - b.start);
  const pieces = [];
  let at = 0;
  for (const { start, end, by } of edits) {
    pieces.push(text.slice(at, start), by);
    at = end;
  }
  return [...pieces, text.slice(at)].join("");
}

/**
 * How the text reaches variables of a type: `S`, or `(*scores)` where the name is a pointer.
 * @param {string} code @param {string} alias
 */
function namesOf(code, alias) {
  const names = new Set();
  const typed = new RegExp(`\\b(\\w+)\\s*:\\s*(ptr<function,\\s*)?${alias}\\b`, "g");
  for (const [, name, pointer] of code.matchAll(typed)) names.add(pointer ? `(*${name})` : name);
  const made = new RegExp(`\\b(?:var|let)\\s+(\\w+)\\s*=\\s*${alias}\\s*\\(`, "g");
  for (const [, name] of code.matchAll(made)) names.add(name);
  return [...names];
}

/**
 * Every `name[index]` with the member that it is.
 * @param {string} code @param {string[]} names @param {Readonly<Record<string, number>>} constants
 * @returns {{start: number, end: number, by: string}[] | null} null if some index is no constant
 */
function accesses(code, names, constants) {
  if (names.length === 0) return [];
  const plain = names.map((name) => name.replace(/[(*)]/g, "\\$&")).join("|");
  const token = new RegExp(
    `[{}]|\\bconst\\s+(\\w+)\\s*=\\s*(\\d+)u\\s*;|(?<![\\w.])(?:${plain})\\[`,
    "g",
  );
  /** @type {Record<string, number>} */
  const known = { ...constants };
  /** What each open scope hides, by name: put back at its end. @type {Map<string, number | undefined>[]} */
  const scopes = [new Map()];
  const found = [];
  for (const match of code.matchAll(token)) {
    if (match[0] === "{") scopes.push(new Map());
    else if (match[0] === "}") {
      for (const [name, before] of scopes.pop() ?? []) {
        if (before === undefined) delete known[name];
        else known[name] = before;
      }
    } else if (match[1]) {
      const hidden = scopes[scopes.length - 1];
      if (hidden?.has(match[1]) === false) hidden.set(match[1], known[match[1]]);
      known[match[1]] = Number(match[2]);
    } else {
      const start = match.index + match[0].length - 1;
      const end = code.indexOf("]", start);
      try {
        const index = evaluateSize(code.slice(start + 1, end), known);
        found.push({ start, end: end + 1, by: `.m${index}` });
      } catch {
        return null;
      }
    }
  }
  return found;
}
