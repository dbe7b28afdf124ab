// @ts-check
/**
 * What the library throws on purpose. `kind` is the stable name of the error in JSON.
 *
 *     AttentionError
 *     ├─ SpecError      the request contradicts itself, or a buffer is too small
 *     ├─ Unsupported    understood, and refused by name: no kernel or no limit for it
 *     └─ CompileError   a shader does not compile: file, line and column on disk
 *        └─ ComposeError  the text could not even be put together
 */

/** Base of everything thrown on purpose. */
export class AttentionError extends Error {
  /** @type {string} */
  kind = "error";

  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/** The request is wrong in itself (a bad value, a buffer that is too small). */
export class SpecError extends AttentionError {
  kind = "case";
}

/** The request is clear, but no kernel takes it or the device cannot hold it. */
export class Unsupported extends AttentionError {
  kind = "unsupported";
}

/**
 * A place in a file of the shader folder.
 * @typedef {object} Place
 * @property {string} file path under the shader folder, as it lies on disk
 * @property {number} line 1-based; 0 = unknown
 * @property {number} column 1-based, in UTF-16 units; 0 = unknown
 * @property {string} [source] the text of that line
 */

/** A shader does not compile; the message ends in the source line with a caret. */
export class CompileError extends AttentionError {
  kind = "compile";

  /**
   * @param {string} text what the compiler said
   * @param {Place} place where, in the file on disk
   */
  constructor(text, place) {
    const { file, line, column } = place;
    super(`${file}${line > 0 ? `:${line}:${column}` : ""}: ${text}${excerpt(place)}`);
    /** What the compiler said, without place and excerpt. */
    this.text = text;
    /** Path under the shader folder. */
    this.file = file;
    /** 1-based line in `file`; 0 = unknown. */
    this.line = line;
    /** 1-based column in `file`; 0 = unknown. */
    this.column = column;
  }
}

/** The shader's text could not be composed (unknown `@use`, a constant nobody mentions, …). */
export class ComposeError extends CompileError {}

/** @param {Place} place */
function excerpt({ line, column, source }) {
  if (source === undefined || line === 0) return "";
  const gutter = String(line);
  const blank = " ".repeat(gutter.length);
  // Tabs stay tabs, so that the caret stands under its character in any viewer.
  const indent = source.slice(0, Math.max(0, column - 1)).replace(/[^\t]/g, " ");
  return `\n  ${gutter} | ${source}\n  ${blank} | ${indent}^`;
}
