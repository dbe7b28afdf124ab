// @ts-check
/** Reads shader files: given as strings, or fetched relative to a base URL. */
import { isShaderPath, usesOf } from "./compose.js";
import { ComposeError } from "./errors.js";

/** The shader folder beside this library: static/shaders/. */
export const SHADER_BASE = new URL("../../shaders/", import.meta.url);

export class ShaderSources {
  #base;
  #given;
  /** @type {Map<string, Promise<string>>} a file is fetched once, also by concurrent callers */
  #fetched = new Map();

  /**
   * @param {URL} base folder that paths are relative to
   * @param {Readonly<Record<string, string>>} given texts by path, used instead of fetching
   */
  constructor(base, given) {
    this.#base = base;
    this.#given = given;
  }

  /**
   * A kernel file and everything it uses.
   * @param {string} file
   * @param {Readonly<Record<string, string>>} [roles] the file that plays each role
   * @returns {Promise<Record<string, string>>} texts by path
   * @throws {ComposeError} a file cannot be had; the place is the `@use` that asks for it
   */
  async closure(file, roles = {}) {
    /** @type {Record<string, string>} */
    const texts = {};
    /** @type {import("./compose.js").Place[]} */
    const open = [{ file, line: 0, column: 0 }];
    const wanted = [file];
    for (let n = 0; n < wanted.length; n++) {
      const path = wanted[n];
      texts[path] = await this.#read(path, open[n]);
      for (const use of usesOf(texts[path], roles)) {
        // A malformed path is left to compose(), which refuses it at its place.
        if (wanted.includes(use.path) || !isShaderPath(use.path)) continue;
        wanted.push(use.path);
        open.push({ file: path, line: use.line, column: use.column, source: use.source });
      }
    }
    return texts;
  }

  /** @param {string} path @param {import("./compose.js").Place} place */
  #read(path, place) {
    if (Object.hasOwn(this.#given, path)) return Promise.resolve(this.#given[path]);
    const known = this.#fetched.get(path);
    if (known !== undefined) return known;
    const text = this.#fetch(path, place);
    this.#fetched.set(path, text);
    text.catch(() => this.#fetched.delete(path)); // a failed fetch may be tried again
    return text;
  }

  /** @param {string} path @param {import("./compose.js").Place} place */
  async #fetch(path, place) {
    const url = new URL(path, this.#base);
    let why;
    try {
      const response = await fetch(url);
      if (response.ok) return await response.text();
      why = `${response.status}`;
    } catch (error) {
      why = String(error);
    }
    throw new ComposeError(
      `shader file ${path} cannot be read from ${url.pathname}: ${why}`,
      place,
    );
  }
}
