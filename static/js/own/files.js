// @ts-check
/** The files of a kernel that is not ours, as a person gives them to the page: texts by name. */

/** In UTF-8: the server takes no more. */
const MOST_BYTES = 256 * 1024;

export class OwnFiles {
  /** @type {Map<string, string>} the kernel's text first, then what it uses */
  #wgsl = new Map();
  /** @type {{name: string, text: string} | null} */
  #manifest = null;

  get names() {
    return [...this.#wgsl.keys(), ...(this.#manifest ? [this.#manifest.name] : [])];
  }

  get empty() {
    return this.#wgsl.size === 0;
  }

  /** @param {string} name */
  text(name) {
    return this.#manifest?.name === name ? this.#manifest.text : this.#wgsl.get(name);
  }

  /**
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
    if (plain.endsWith(".json")) this.#manifest = { name: plain, text };
    else this.#wgsl.set(plain, text);
    return plain;
  }

  /** @param {string} name */
  remove(name) {
    this.#wgsl.delete(name);
    if (this.#manifest?.name === name) this.#manifest = null;
  }

  /**
   * A text without a name: a manifest if it is a JSON object, else a kernel's.
   *
   * @param {string} text
   * @returns {string} the name that it got
   */
  paste(text) {
    if (/^\s*\{/.test(text)) return this.set(this.#manifest?.name ?? "manifest.json", text);
    const [first = "pasted.wgsl"] = this.#wgsl.keys();
    return this.set(first, text);
  }

  /**
   * As runs take it.
   *
   * @returns {import("./types.js").Own | null} null = there is no kernel yet
   * @throws {SyntaxError} the manifest is no JSON object
   */
  own() {
    if (this.empty) return null;
    const files = Object.fromEntries(this.#wgsl);
    const [first] = this.#wgsl.keys();
    return { name: first.replace(/\.wgsl$/, ""), manifest: this.#parsed(), files };
  }

  #parsed() {
    if (this.#manifest === null || this.#manifest.text.trim() === "") return {};
    const { name, text } = this.#manifest;
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

/** @param {string} path */
function plainName(path) {
  const name = (path.split(/[\\/]/).pop() ?? "").replace(/[^A-Za-z0-9_.-]/g, "_").slice(-90);
  const safe = /^[A-Za-z0-9_]/.test(name) ? name : `k${name}`;
  return /\.(?:wgsl|json)$/.test(safe) ? safe : `${safe}.wgsl`;
}
