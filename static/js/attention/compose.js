// @ts-check
/**
 * Puts a shader together: `enable …;` before the first line, the kernel file, the files that it
 * and they `@use`, and the constants last. A `@use` names a file, or a role (`@use storage`) that the
 * plan gives to a file; loops marked `@unroll` are written out, arrays marked `@registers` become
 * structures, lines marked `@trace` are code where that is asked for (instrument.js). WGSL does not care about the order at module scope, so
 * the kernel keeps its own line numbers and the rest can be mapped back to its file.
 */
import { strayDirective } from "./directives.js";
import { ComposeError } from "./errors.js";
import { callsDebug, DBG_FILE, noteCaller, withHooks } from "./instrument.js";
import { PARAMS, paramsMismatch } from "./params.js";
import { inRegisters } from "./registers.js";
import { numbersOf } from "./size-expression.js";
import { unroll } from "./unroll.js";
import { withoutComments } from "./wgsl-text.js";

export { withoutComments } from "./wgsl-text.js";

/**
 * @typedef {import("./errors.js").Place} Place
 * @typedef {number | boolean | {type: string, value: string}} Constant a u32, a bool, or a literal of
 *   another type
 * @typedef {object} Composed
 * @property {string} text the whole shader
 * @property {(line: number, column: number) => Place} locate from a place in `text` to one on disk
 */

/** Stands for the file of the constant lines, which exist nowhere on disk. */
export const CONSTANTS_FILE = "(constants)";

/**
 * @param {string} file path of the kernel under the shader folder
 * @param {Readonly<Record<string, Constant>>} constants
 * @param {Readonly<Record<string, string>>} sources text of the kernel and of every used file
 * @param {object} [options]
 * @param {Readonly<Record<string, string>>} [options.roles] the file that plays each role
 * @param {readonly string[]} [options.enable] WGSL extensions to enable
 * @param {readonly import("./params.js").Member[] | null} [options.params] members of
 *   `struct Params`; null = it may have any
 * @param {readonly string[]} [options.also] files beside those that the kernel asks for
 * @param {boolean} [options.trace] lines marked `@trace` are code
 * @returns {Composed}
 * @throws {ComposeError} a `@use` that names no file or comes twice, a role without a file, a word of
 *   the composer that is none (directives.js), a constant that the text never mentions or declares
 *   itself, a `struct Params` that differs from `params`
 */
export function compose(file, constants, sources, options = {}) {
  const { roles = {}, enable = [], params = PARAMS, also = [], trace = false } = options;
  const files = usedFiles(file, sources, roles, also);
  for (const name of files) refuseStray(name, sources[name]);
  const prefix = enable.map((name) => `enable ${name}; `).join("");
  const debugs = files.some((name) => name !== DBG_FILE && callsDebug(sources[name]));
  const parts = files.map((name) => {
    const hooked = trace ? withHooks(sources[name]) : sources[name];
    return { name, lines: (debugs ? noteCaller(hooked) : hooked).split("\n") };
  });
  const declarations = Object.entries(constants).map(([name, constant]) => {
    const { type, value } = literalOf(constant);
    return `const ${name}: ${type} = ${value};`;
  });
  parts.push({ name: CONSTANTS_FILE, lines: declarations });
  const body = parts.flatMap((part) => part.lines).join("\n");

  /** @param {number} line @param {number} column @returns {Place} */
  const locate = (line, column) => {
    let first = 1;
    for (const part of parts) {
      const own = line - first;
      if (own >= 0 && own < part.lines.length) {
        const shift = line === 1 ? prefix.length : 0; // the enables stand before line 1
        const at = { line: own + 1, column: Math.max(column - shift, Math.min(column, 1)) };
        return { file: part.name, ...at, source: part.lines[own].replace(/\r$/, "") };
      }
      first += part.lines.length;
    }
    return { file, line: 0, column: 0 };
  };
  /** @param {string} message @param {number} index @returns {never} */
  const refuse = (message, index) => {
    const before = body.slice(0, index).split("\n");
    throw new ComposeError(message, locate(before.length, before[before.length - 1].length + 1));
  };

  const code = withoutComments(body);
  const own = code.slice(0, body.length - declarations.join("\n").length);
  for (const name of Object.keys(constants)) {
    const twice = new RegExp(`\\b(?:const|override|alias)\\s+${name}\\b`).exec(own);
    if (twice)
      refuse(`constant ${name} is declared here and given from outside; drop one`, twice.index);
    if (!new RegExp(`\\b${name}\\b`).test(own)) {
      throw new ComposeError(
        `constant ${name} is given, but no line of ${files.join(", ")} mentions it`,
        { file, line: 0, column: 0 },
      );
    }
  }
  const mismatch = params && paramsMismatch(own, params);
  if (mismatch) refuse(mismatch.message, mismatch.index);
  // Line by line the same text, so `locate` serves both.
  const numbers = numbersOf(constants);
  const unrolled = unroll(body, code, numbers, refuse);
  return { text: prefix + inRegisters(unrolled.text, unrolled.code, numbers), locate };
}

/** @param {string} file @param {string} text */
function refuseStray(file, text) {
  const stray = strayDirective(text);
  if (stray === null) return;
  const before = text.slice(0, stray.index).split("\n");
  const line = before.length;
  const column = before[line - 1].length + 1;
  const source = text.split("\n")[line - 1].replace(/\r$/, "");
  throw new ComposeError(stray.message, { file, line, column, source });
}

/** @param {Constant} constant */
function literalOf(constant) {
  if (typeof constant === "boolean") return { type: "bool", value: `${constant}` };
  return typeof constant === "number" ? { type: "u32", value: `${constant}u` } : constant;
}

/**
 * The files that a text asks for, in order of appearance.
 * @param {string} text
 * @param {Readonly<Record<string, string>>} [roles] the file that plays each role
 * @returns {{path: string, line: number, column: number, source: string}[]} a role without a file
 *   keeps its name as the path
 */
export function usesOf(text, roles = {}) {
  return text.split("\n").flatMap((source, n) => {
    const use = /^\s*\/\/\s*@use\b[ \t]*(.*?)\s*$/.exec(source);
    if (use === null) return [];
    const path = Object.hasOwn(roles, use[1]) ? roles[use[1]] : use[1];
    return [{ path, line: n + 1, column: source.indexOf("@use") + 1, source }];
  });
}

/** @param {string} path */
export const isShaderPath = (path) => /^(?:[a-z0-9_-]+\/)*[a-z0-9_-]+\.wgsl$/.test(path);

/**
 * The kernel file and everything it uses, each once, in the order of a breadth-first walk.
 * @param {string} file
 * @param {Readonly<Record<string, string>>} sources
 * @param {Readonly<Record<string, string>>} roles
 * @param {readonly string[]} also what is added behind them
 */
function usedFiles(file, sources, roles, also) {
  if (!Object.hasOwn(sources, file)) {
    throw new ComposeError("no such shader file", { file, line: 0, column: 0 });
  }
  const files = [file];
  for (let n = 0; n < files.length; n++) {
    const user = files[n];
    const seen = new Set();
    for (const { path, line, column, source } of usesOf(sources[user], roles)) {
      const place = { file: user, line, column, source };
      if (/^[a-z_]+$/.test(path)) {
        throw new ComposeError(`@use ${path}: no file was chosen for this role`, place);
      }
      if (!isShaderPath(path) || !Object.hasOwn(sources, path)) {
        throw new ComposeError(`@use "${path}": no such file in the shader folder`, place);
      }
      if (seen.has(path)) throw new ComposeError(`@use ${path} comes twice in this file`, place);
      seen.add(path);
      if (!files.includes(path)) files.push(path);
    }
    if (n === files.length - 1) files.push(...also.filter((path) => !files.includes(path)));
  }
  return files;
}
