// @ts-check
/** The files of kernels that are not ours, as a person gives them to the page: texts by name. */

import { withoutComments } from "../attention/wgsl-text.js";

/** In UTF-8: the server takes no more. */
const MOST_BYTES = 256 * 1024;

/** As the composer reads it: the path of a file that a text uses. */
const USE = /^[ \t]*\/\/[ \t]*@use\b[ \t]*(\S*)/gm;

/** @typedef {{name: string, text: string}} Given a text and the name that it was given with */

/**
 * @typedef {object} Roles which file is what; "" where there is none
 * @property {string} kernel  the one that is run
 * @property {string} manifest  that goes with it
 * @property {string[]} parts  texts that it uses
 * @property {string[]} others  what is there and has no part in it
 */

/** Several kernels may be there at once; one of them is run, with the manifest of its name. */
export class OwnFiles {
  /** @type {Map<string, string>} */
  #wgsl = new Map();
  /** @type {Map<string, string>} */
  #manifests = new Map();
  /** Given last, or chosen. */
  #kernel = "";

  get names() {
    return [...this.#wgsl.keys(), ...this.#manifests.keys()];
  }

  get empty() {
    return this.#wgsl.size === 0;
  }

  /** The file of the kernel that is run; "" = there is none. */
  get kernel() {
    if (this.#wgsl.has(this.#kernel)) return this.#kernel;
    const [first = ""] = this.#wgsl.keys();
    return [...this.#wgsl.keys()].findLast((name) => this.runs(name)) ?? first;
  }

  /** The one of the kernel's name, else the last that is of no other text here; "" = none. */
  get manifest() {
    const its = `${stemOf(this.kernel)}.json`;
    if (this.#manifests.has(its)) return its;
    const free = [...this.#manifests.keys()].filter((name) => !this.#wgsl.has(textOf(name)));
    return free.at(-1) ?? "";
  }

  /** @returns {Roles} */
  get roles() {
    const { kernel, manifest } = this;
    let named = {};
    try {
      named = this.#parsed();
    } catch {} // whoever asks for the kernel is told
    const [, ...parts] = this.#reached(named);
    const others = this.names.filter((name) => ![kernel, manifest, ...parts].includes(name));
    return { kernel, manifest, parts, others };
  }

  /** The text has an entry point. @param {string} name */
  runs(name) {
    return /@compute\b/.test(withoutComments(this.#wgsl.get(name) ?? ""));
  }

  /** @param {string} name */
  text(name) {
    return this.#manifests.get(name) ?? this.#wgsl.get(name);
  }

  /**
   * Another text of a file, or another file; the kernel stays the one that it is.
   *
   * @param {string} name of a file; a path's last part is taken, odd characters become "_"
   * @param {string} text
   * @returns {string} the name that it got
   * @throws {RangeError} it is too long
   */
  set(name, text) {
    const { length } = new TextEncoder().encode(text);
    if (length > MOST_BYTES) {
      throw new RangeError(`${name} has ${length} bytes; at most ${MOST_BYTES} are taken`);
    }
    const plain = plainName(name);
    (plain.endsWith(".json") ? this.#manifests : this.#wgsl).set(plain, text);
    return plain;
  }

  /**
   * Files that belong together. The kernel becomes the one among them that has a manifest, else the
   * last with an entry point, else the one whose manifest is among them.
   *
   * @param {readonly Given[]} files
   * @returns {string[]} the names that they got
   * @throws {RangeError} one is too long
   */
  give(files) {
    const { kernel } = this;
    const names = files.map(({ name, text }) => this.set(name, text));
    const texts = names.filter((name) => this.#wgsl.has(name));
    this.#kernel =
      texts.findLast((name) => this.#manifests.has(`${stemOf(name)}.json`)) ??
      texts.findLast((name) => this.runs(name)) ??
      names.map(textOf).findLast((name) => !names.includes(name) && this.#wgsl.has(name)) ??
      kernel;
    return names;
  }

  /** Makes a text that is there the kernel. @param {string} name */
  choose(name) {
    this.#kernel = name;
  }

  /** @param {string} name */
  remove(name) {
    this.#wgsl.delete(name);
    this.#manifests.delete(name);
  }

  /**
   * A text without a name: the kernel's manifest if it is a JSON object, else the kernel's.
   *
   * @param {string} text
   * @returns {Given}
   */
  named(text) {
    const { kernel, manifest } = this;
    if (!/^\s*\{/.test(text)) return { name: kernel || "pasted.wgsl", text };
    return { name: manifest || `${stemOf(kernel) || "manifest"}.json`, text };
  }

  /**
   * As runs take it: the kernel's text first, then what it uses.
   *
   * @returns {import("./types.js").Own | null} null = there is no kernel yet
   * @throws {SyntaxError} the manifest is no JSON object
   */
  own() {
    if (this.empty) return null;
    const manifest = this.#parsed();
    const files = Object.fromEntries(
      this.#reached(manifest).map((name) => [name, this.#wgsl.get(name) ?? ""]),
    );
    return { name: stemOf(this.kernel), manifest, files };
  }

  /**
   * The kernel, the texts that its manifest names, and those that they use.
   *
   * @param {import("./types.js").Manifest} manifest
   */
  #reached({ file, passes }) {
    const ofPasses = Array.isArray(passes) ? passes.map((pass) => pass?.file) : [];
    const here = (/** @type {unknown} */ name) => this.#wgsl.has(String(name));
    const found = new Set([this.kernel, ...[file, ...ofPasses].filter(here).map(String)]);
    for (const name of found) {
      const used = [...(this.#wgsl.get(name) ?? "").matchAll(USE)].map(([, path]) => path);
      for (const path of used.filter(here)) found.add(path); // this loop comes to them, too
    }
    return [...found];
  }

  /** @returns {import("./types.js").Manifest} */
  #parsed() {
    const name = this.manifest;
    const text = this.#manifests.get(name) ?? "";
    if (text.trim() === "") return {};
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new SyntaxError(`${name}: ${/** @type {Error} */ (error).message}`);
    }
    if (value === null || typeof value !== "object" || Array.isArray(value)) {
      throw new SyntaxError(
        `${name}: a manifest is an object, as {"grid": ["ceil_div(T, 16)", "B * H"]}`,
      );
    }
    return value;
  }
}

/** @param {string} name */
const stemOf = (name) => name.replace(/\.(?:wgsl|json)$/, "");

/** The text that a manifest is of, by their names. @param {string} name */
const textOf = (name) => `${stemOf(name)}.wgsl`;

/** @param {string} path */
function plainName(path) {
  const name = (path.split(/[\\/]/).pop() ?? "").replace(/[^A-Za-z0-9_.-]/g, "_").slice(-90);
  const safe = /^[A-Za-z0-9_]/.test(name) ? name : `k${name}`;
  return /\.(?:wgsl|json)$/.test(safe) ? safe : `${safe}.wgsl`;
}
