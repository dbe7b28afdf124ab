// @ts-check
/**
 * The one construct that the composer adds to WGSL: a loop that is written out.
 *
 *     for (var c = 0u; c < KEYS; c++) { // @unroll
 *       O[c] = …;
 *     }
 *
 * becomes `{ const c = 0u; O[c] = …; } { const c = 1u; … }`. Arrays indexed by constants stay in
 * registers, those indexed by loop variables are bounds-clamped and spilled. The text is valid WGSL
 * with or without it and means the same. The first copy keeps the lines of the loop and all others
 * stand on the line of its closing brace, so that line numbers stay those of the file.
 */
import { evaluateSize } from "./size-expression.js";

/** More copies than any tile has; a slip in a tile row should not make megabytes of text. */
const MOST_COPIES = 64;

/** A loop that is marked. */
export const UNROLL = /^([^/\n]*?)\bfor\s*\(([^{}\n]*)\)\s*\{[ \t]*\/\/[ \t]*@unroll[ \t]*$/m;
const HEAD = /^\s*var\s+(\w+)\s*=\s*0u\s*;\s*(\w+)\s*<\s*([^;]+?)\s*;\s*(\w+)\+\+\s*$/;

/**
 * @param {string} text WGSL
 * @param {string} code the same with comments blanked out, place for place
 * @param {Readonly<Record<string, number>>} constants that bounds may name
 * @param {(message: string, index: number) => never} refuse index counts in `text`
 * @returns {{text: string, code: string}} the same number of lines
 */
export function unroll(text, code, constants, refuse) {
  const mark = UNROLL.exec(text);
  if (mark === null) return { text, code };
  const at = mark.index + mark[1].length;
  const head = HEAD.exec(mark[2]);
  if (head === null || head[1] !== head[2] || head[1] !== head[4]) {
    return refuse("@unroll: the loop must read for (var n = 0u; n < BOUND; n++) {", at);
  }
  const start = mark.index + mark[0].length;
  const end = closingBrace(code, start);
  if (end < 0) return refuse("@unroll: the loop has no closing brace", at);
  if (/\b(?:break|continue)\b/.test(code.slice(start, end))) {
    return refuse("@unroll: break and continue would leave another loop", at);
  }
  let copies = 0;
  try {
    copies = evaluateSize(head[3], constants);
  } catch (error) {
    return refuse(`@unroll: ${/** @type {Error} */ (error).message}`, at);
  }
  if (copies < 1 || copies > MOST_COPIES) {
    return refuse(`@unroll: ${head[3]} is ${copies}, must be 1 to ${MOST_COPIES}`, at);
  }
  /** @param {number} from @param {number} [to] */
  const inner = (from, to) =>
    unroll(text.slice(from, to), code.slice(from, to), constants, (message, index) =>
      refuse(message, from + index),
    );
  const first = inner(start, end);
  const rest = first.code.replace(/\s+/g, " ");
  const others = Array.from({ length: copies - 1 }, (_, n) => ` ${copy(head[1], n + 1, rest)}`);
  const after = inner(end + 1);
  const joined = (/** @type {"text" | "code"} */ which, /** @type {string} */ before) =>
    `${before}${copy(head[1], 0, first[which])}${others.join("")}${after[which]}`;
  return { text: joined("text", text.slice(0, at)), code: joined("code", code.slice(0, at)) };
}

/** @param {string} name @param {number} value @param {string} body */
const copy = (name, value, body) => `{ const ${name} = ${value}u;${body}}`;

/** @param {string} code WGSL without comments @param {number} start behind the opening brace */
function closingBrace(code, start) {
  let depth = 1;
  for (let n = start; n < code.length; n++) {
    depth += Number(code[n] === "{") - Number(code[n] === "}");
    if (depth === 0) return n;
  }
  return -1;
}
