// @ts-check
/** From a pass of a plan to its composed text, with dbg() and tile traces where they are wanted. */
import { compose } from "./compose.js";
import { instrumented } from "./instrument.js";

/**
 * @typedef {import("./types.js").Pass} Pass
 * @typedef {import("./compose.js").Composed} Composed
 * @typedef {object} Part a pass and what its text is made of
 * @property {Pass} pass as it is bound: with the buffer that it tells its state into, if any
 * @property {Record<string, string>} texts by path
 * @property {ReturnType<typeof instrumented>} telling null = it tells nothing
 */

/**
 * @param {Pass} pass
 * @param {import("./shader-sources.js").ShaderSources} sources
 * @param {{trace: boolean, most: number}} options most: storage buffers that a stage may have
 * @returns {Promise<Part>}
 * @throws {import("./errors.js").ComposeError} a file cannot be had
 */
export async function partOf(pass, sources, { trace, most }) {
  const texts = await sources.closure(pass.file, pass.roles);
  const telling = instrumented(pass, texts, trace, most);
  if (telling === null) return { pass, texts, telling };
  for (const file of telling.also) Object.assign(texts, await sources.closure(file));
  return { pass: telling.pass, texts, telling };
}

/**
 * @param {Part} part
 * @returns {Composed}
 * @throws {import("./errors.js").ComposeError}
 */
export const composePart = ({ pass, texts, telling }) =>
  compose(pass.file, pass.constants, texts, { ...pass, ...telling });

/**
 * Composed texts, kept: a request of other lengths is the same text, and to compose a large one
 * holds the main thread up for longer than a frame.
 */
export class Compositions {
  /** @type {Map<string, {texts: Part["texts"], composed: Composed}>} */
  #kept = new Map();

  /**
   * @param {Part} part
   * @returns {Composed}
   * @throws {import("./errors.js").ComposeError}
   */
  of(part) {
    const { pass, texts, telling } = part;
    const { file, constants, roles, enable } = pass;
    const key = JSON.stringify([file, constants, roles, enable, telling?.trace, telling?.also]);
    const known = this.#kept.get(key);
    // Files that were read anew may say something else, also when they were asked for before.
    if (known && sameTexts(known.texts, texts)) return known.composed;
    const composed = composePart(part);
    this.#kept.set(key, { texts, composed });
    return composed;
  }

  /** Frees them. */
  forget() {
    this.#kept.clear();
  }
}

/** @param {Record<string, string>} a @param {Record<string, string>} b */
function sameTexts(a, b) {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
