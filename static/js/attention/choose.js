// @ts-check
/** Which of the kernels that a request may mean computes it on a device. */
import { boundBytes, callersTooLarge, scratchBytes, slicesOf, tooLarge } from "./buffer-sizes.js";
import { unmet } from "./conditions.js";
import { Unsupported } from "./errors.js";
import { choicesNamed, kernelNamed, refusal } from "./registry.js";
import { fitTile } from "./tiles.js";
import { preferred, UNTUNED } from "./tuned.js";

/**
 * @typedef {import("./spec.js").FullSpec} FullSpec
 * @typedef {import("./types.js").DeviceFacts} DeviceFacts
 * @typedef {import("./registry.js").Choice} Choice
 * @typedef {import("./registry.js").KernelRow} KernelRow
 * @typedef {import("./registry.js").Tile} Tile
 * @typedef {import("./types.js").TunedTable} TunedTable
 * @typedef {import("./tiles.js").Fit} Fit
 * @typedef {object} Chosen
 * @property {Choice} choice
 * @property {readonly Fit[]} fits one for each pass
 * @property {number} slices of the keys
 * @property {Record<string, number>} scratch bytes of each buffer between its passes
 */

/**
 * The first choice that takes the request and whose passes and scratch all fit the device.
 * @param {FullSpec} spec
 * @param {DeviceFacts} facts
 * @param {string} wanted "auto", a family or a name
 * @param {TunedTable} [tuned]
 * @returns {Chosen}
 * @throws {import("./errors.js").SpecError} nothing has that name
 * @throws {Unsupported} all that are meant refuse. The message is the reason of the most general
 *   one: the last of the first family that computes this op
 */
export function choose(spec, facts, wanted, tuned = UNTUNED) {
  const meant = choicesNamed(wanted);
  const able = meant.filter(({ op }) => op === spec.op);
  const [{ family }] = able.length ? able : meant;
  let why = "";
  const first = preferred(able, tuned, spec, facts);
  for (const choice of new Set([...first, ...(able.length ? able : meant)])) {
    const found =
      refusal(choice, spec) ??
      (choice.name === wanted || first.includes(choice) ? null : passedOver(choice, spec, facts)) ??
      fitPasses(choice, spec, facts, tuned);
    if (typeof found !== "string") return found;
    if (choice.family === family) why = found;
  }
  throw new Unsupported(why);
}

/**
 * Why a choice that would do is taken by its own name only (or by a measurement's), or null.
 * @param {Choice} choice @param {FullSpec} spec @param {DeviceFacts} facts
 */
function passedOver({ name, unnamed = {} }, spec, facts) {
  const whys = [unnamed].flat().map((conditions) => unmet(conditions, spec, facts, []));
  const why = whys.includes(null) ? null : whys.join("; or ");
  return why && `kernel ${name} is slower than others here (${why}); name it to have it`;
}

/**
 * @param {Choice} choice @param {FullSpec} spec @param {DeviceFacts} facts
 * @param {TunedTable} tuned
 * @returns {Chosen | string} or why it does not fit
 */
function fitPasses(choice, spec, facts, { kernels = {} }) {
  const rows = rowsOf(choice, spec);
  if (typeof rows === "string") return rows;
  /** @type {Fit[]} */
  const fits = [];
  for (const row of rows) {
    const tiles = /** @type {readonly Tile[]} */ (kernels[row.name] ?? []);
    const fit = fitTile(row, spec, facts, [...tiles, ...row.tiles]);
    if (typeof fit === "string") return `${fit}; use kernel=auto, or other sizes`;
    fits.push(fit);
  }
  const scratch = scratchBytes(choice, fits, spec);
  const slices = slicesOf(choice, fits, spec);
  const why = tooLarge(scratch, facts.limits, insteadOf);
  if (why === null) return { choice, fits, slices, scratch };
  // What the caller's own lack is the better reason: other kernels need them too.
  return callersTooLarge(boundBytes(fits, spec), facts.limits, spec) ?? why;
}

/** What to do about scratch that is too large. @param {string} name of the buffer */
const insteadOf = (name) =>
  ["attn", "dscores"].includes(name)
    ? "use kernel=fa2, which keeps no such matrix"
    : "request a larger limit or split the batch";

/**
 * The shaders that run, in order, or why there are none.
 * @param {Choice} choice @param {FullSpec} spec
 * @returns {KernelRow[] | string}
 */
function rowsOf(choice, spec) {
  const rows = (choice.passes ?? [choice.name]).map(kernelNamed);
  if (!spec.attn) return rows;
  // A backward is given the attn of its forward, so none of its passes has to make it.
  if (spec.op === "backward") return rows.filter(({ bindings }) => bindings.attn !== "write");
  if (choice.attnPass === undefined) {
    return `attn=1: kernel ${choice.name} returns no attention matrix; leave attn out`;
  }
  return [...rows, kernelNamed(choice.attnPass)];
}
