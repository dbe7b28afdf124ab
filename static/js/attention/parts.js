// @ts-check
/** From a pass of a plan to its composed text, with dbg() and tile traces where they are wanted. */
import { compose } from "./compose.js";
import { instrumented } from "./instrument.js";

/**
 * @typedef {import("./types.js").Pass} Pass
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
 * @returns {import("./compose.js").Composed}
 * @throws {import("./errors.js").ComposeError}
 */
export const composePart = ({ pass, texts, telling }) =>
  compose(pass.file, pass.constants, texts, { ...pass, ...telling });
