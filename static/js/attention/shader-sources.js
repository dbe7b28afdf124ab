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
    /** @type {Map<string, import("./compose.js").Place>} */
    let wanted = new Map([[file, { file, line: 0, column: 0 }]]);
    while (wanted.size > 0) {
      // A level at a time: the first result waits for as many answers as there are levels.
      const level = await Promise.all(
        [...wanted].map(async ([path, place]) => ({ path, text: await this.#read(path, place) })),
      );
      for (const { path, text } of level) texts[path] = text;
      wanted = new Map();
      for (const { path, text } of level) {
        for (const { path: used, ...at } of usesOf(text, roles)) {
          // A malformed path is left to compose(), which refuses it at its place.
          if (used in texts || wanted.has(used) || !isShaderPath(used)) continue;
          wanted.set(used, { file: path, ...at });
        }
      }
    }
    return texts;
  }

  /** The files may have changed: the next caller fetches them anew. */
  forget() {
    this.#fetched.clear();
  }

  /** @param {string} path @param {import("./compose.js").Place} place */
  #read(path, place) {
    if (Object.hasOwn(this.#given, path)) return Promise.resolve(this.#given[path]);
    const known = this.#fetched.get(path);
    if (known !== undefined) return known;
    const text = this.#fetch(path, place);
    this.#fetched.set(path, text);
    text.catch(() => {
      // A failed fetch may be tried again; another one may be under way already.
      if (this.#fetched.get(path) === text) this.#fetched.delete(path);
    });
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
