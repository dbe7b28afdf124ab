// @ts-check
/**
 * From a manifest, its texts and a case to what is to be compiled, bound and dispatched. Pure: no
 * device is touched, and what does not fit is refused here, by the manifest's field.
 */

import { compose, withoutComments } from "../attention/compose.js";
import { Unsupported } from "../attention/index.js";
import { callsDebug, DBG_BINDING, DBG_FILE } from "../attention/instrument.js";
import { visiblePairs } from "../attention/plan.js";
import { namesIn } from "../attention/size-expression.js";
import { completeSpec } from "../attention/spec.js";
import { bindVariables, checkBindings, checkUniforms, fillUniforms } from "./bind.js";
import { scratchOf, tensorsOf } from "./buffers.js";
import { chooseConstants, numberFor } from "./constants.js";
import { ManifestError, Unreadable } from "./errors.js";
import { OpenEnds } from "./open.js";
import { packFields } from "./pack.js";
import { overridesIn, reflect } from "./reflect.js";
import { refusal } from "./supports.js";
import { valuesOf } from "./values.js";

/** @typedef {import("./types.js").Own} Own */
/** @typedef {import("./types.js").Manifest} Manifest */
/** @typedef {import("./types.js").Expression} Expression */
/** @typedef {import("./types.js").Bound} Bound */
/** @typedef {import("./types.js").Field} Field */
/** @typedef {import("../attention/spec.js").FullSpec} FullSpec */
/** @typedef {import("../attention/index.js").Limits} Limits */

/**
 * @typedef {object} OwnPass
 * @property {string} entry
 * @property {string} file
 * @property {import("../attention/compose.js").Composed} composed
 * @property {Record<string, number>} constants  of the pipeline
 * @property {[number, number, number]} grid
 * @property {readonly Bound[]} bound  what the entry point binds
 * @property {readonly Field[]} fields  of its uniforms
 * @property {Readonly<Record<string, number>>} names  of its expressions
 * @property {Record<string, ArrayBuffer>} uniforms  packed, by variable
 */

/**
 * @typedef {object} OwnPlan
 * @property {string} name
 * @property {readonly OwnPass[]} passes
 * @property {{Br: number, Bc: number} | null} tile
 * @property {Record<string, {bytes: number, zero: boolean}>} scratch
 * @property {Record<string, number>} tensors  bytes of every tensor that some pass binds
 * @property {number} work  floating-point operations, about
 */

/**
 * @param {Own} own
 * @param {import("../attention/index.js").Spec} request
 * @param {object} context
 * @param {Limits} context.limits
 * @param {readonly string[]} context.want  names of the outputs that are judged
 * @param {(file: string) => Promise<Record<string, string>>} context.closure  a file and all that
 *   it uses
 * @returns {Promise<OwnPlan>}
 * @throws {ManifestError} the manifest does not fit the text
 * @throws {Unsupported} the kernel does not take the case, or the device does not hold it
 * @throws {Unreadable} wgsl_reflect does not read a text
 */
export async function planOwn(own, request, { limits, want, closure }) {
  const { manifest, name } = own;
  const spec = completeSpec(request);
  const values = valuesOf(spec);
  const main = manifest.file ?? Object.keys(own.files)[0];
  const drafts = [];
  for (const [n, pass] of passesOf(manifest).entries()) {
    drafts.push(await draft(own, pass, n, main, values, closure));
  }
  const variables = drafts.flatMap((one) => one.variables);
  checkBindings(manifest, variables, main);
  const open = new OpenEnds();
  const bound = drafts.map((one) => bindVariables(manifest, one.variables, open));
  const fields = bound.map((some) => fillUniforms(manifest, some, open));
  open.check(manifest, bound.flat(), want);
  checkUniforms(manifest, fields.flat(), main);

  const reads = namesRead(manifest, drafts, fields.flat());
  const why = refusal(manifest.op ?? "forward", manifest.supports ?? {}, spec, reads);
  if (why) throw new Unsupported(`${name} does not take this case: ${why}`);

  const passes = drafts.map((one, n) => finish(one, bound[n], fields[n], limits, name));
  const all = bound.flat();
  checkGroups(variables, limits, name);
  const tensors = tensorsOf(all, spec);
  checkOutputs(want, all, main, spec.op);
  const products = spec.op === "backward" ? 10 : 4;
  return {
    name,
    passes,
    tile: drafts[drafts.length - 1].tile,
    scratch: scratchOf(manifest, all, drafts[0].names, limits),
    tensors,
    work: products * spec.D * visiblePairs(spec),
  };
}

/** Rows of a tile; no tensor has more. */
const MOST_TILE = 2 ** 24;

/** @param {Manifest} manifest @returns {import("./types.js").PassManifest[]} */
const passesOf = ({ passes, entry, grid }) => passes ?? [{ entry, grid }];

/**
 * What is known of a pass before the variables are.
 *
 * @param {Own} own
 * @param {import("./types.js").PassManifest} pass
 * @param {number} n
 * @param {string} main
 * @param {Record<string, number>} values
 * @param {(file: string) => Promise<Record<string, string>>} closure
 */
async function draft({ manifest }, pass, n, main, values, closure) {
  const at = manifest.passes ? `passes[${n}].` : "";
  const file = pass.file ?? main;
  const sources = await closure(file);
  const text = Object.values(sources).join("\n");
  const given = { ...manifest.constants, ...pass.constants };
  const tiled = tileOf(manifest, values, {});
  const chosen = chooseConstants(given, overridesIn(text), { ...values, ...named(tiled) });
  const tile = tileOf(manifest, values, chosen.numbers);
  const names = { ...values, ...chosen.numbers, ...named(tile) };
  const also = await dbgFiles(sources, closure);
  const composed = compose(file, chosen.text, sources, { params: null, also });
  const { entries } = await reflect(composed.text).catch((/** @type {Error} */ error) => {
    throw new Unreadable(file, composed, error.message);
  });
  const entry = pass.entry ?? onlyEntry([...entries.keys()], file, at);
  const variables = entries.get(entry);
  if (variables === undefined) {
    const others = [...entries.keys()].join(", ") || "none";
    throw new ManifestError(
      `${at}entry`,
      `${file} has no compute entry point ${entry}; it has ${others}`,
    );
  }
  if (pass.grid === undefined) {
    throw new ManifestError(
      `${at}grid`,
      `how many workgroups of ${entry} run is not known; for example ["ceil_div(Tq, 16)", "H", "B"]`,
    );
  }
  return { at, file, entry, grid: pass.grid, composed, chosen, names, tile, variables };
}

/**
 * A kernel that calls dbg() gets the file that has it, bound where the kernel leaves room.
 *
 * @param {Record<string, string>} sources
 * @param {(file: string) => Promise<Record<string, string>>} closure
 * @returns {Promise<string[]>} what the composer is to add
 */
async function dbgFiles(sources, closure) {
  const texts = Object.values(sources);
  if (!texts.some(callsDebug)) return [];
  const taken = texts.flatMap((text) =>
    [...withoutComments(text).matchAll(/@binding\s*\(\s*(\d+)/g)].map(([, n]) => Number(n)),
  );
  const { [DBG_FILE]: text } = await closure(DBG_FILE);
  sources[DBG_FILE] = text.replace(
    `@binding(${DBG_BINDING})`,
    `@binding(${Math.max(-1, ...taken) + 1})`,
  );
  return [DBG_FILE];
}

/** @param {string[]} entries @param {string} file @param {string} at */
function onlyEntry(entries, file, at) {
  if (entries.length === 1) return entries[0];
  throw new ManifestError(
    `${at}entry`,
    `${file} has ${entries.length} compute entry points (${entries.join(", ") || "none"}); ` +
      "name one, or several in order as passes",
  );
}

/**
 * Query rows and keys of a tile: what the manifest says, else constants BR and BC.
 *
 * @param {Manifest} manifest
 * @param {Record<string, number>} values
 * @param {Record<string, number>} constants
 */
function tileOf({ tile }, values, constants) {
  const names = { ...values, ...constants };
  if (tile === undefined) {
    const { BR, BC } = constants;
    const lengths = [BR, BC].every((n) => Number.isInteger(n) && n >= 1 && n <= MOST_TILE);
    return lengths ? { Br: BR, Bc: BC } : null;
  }
  // Expressions may need constants that are chosen later: then it is asked again.
  const early = Object.keys(constants).length === 0;
  const open = [tile.Br, tile.Bc].some((e) => namesIn(`${e}`).some((name) => !(name in names)));
  if (early && open) return null;
  const size = (/** @type {"Br" | "Bc"} */ key) => {
    const count = numberFor(`tile.${key}`, tile[key], "u32", names);
    if (count >= 1 && count <= MOST_TILE) return count;
    throw new ManifestError(`tile.${key}`, `${count} is no length of a tile; 1 to ${MOST_TILE} is`);
  };
  return { Br: size("Br"), Bc: size("Bc") };
}

/** @param {{Br: number, Bc: number} | null} tile @returns {Record<string, number>} */
const named = (tile) => (tile ? { BR: tile.Br, BC: tile.Bc } : {});

/**
 * Names of values that reach the kernel in any way.
 *
 * @param {Manifest} manifest
 * @param {{chosen: import("./constants.js").Chosen, grid: Expression[]}[]} drafts
 * @param {readonly Field[]} fields
 */
function namesRead({ scratch = {} }, drafts, fields) {
  const expressions = [
    ...fields.flatMap(({ values }) => values),
    ...drafts.flatMap(({ grid, chosen }) => [...grid, ...chosen.used]),
    ...Object.values(scratch).map((one) => (typeof one === "object" ? one.bytes : one)),
  ];
  return new Set(expressions.flatMap((one) => namesIn(`${one}`)));
}

/**
 * @param {Awaited<ReturnType<typeof draft>>} one
 * @param {readonly Bound[]} bound
 * @param {readonly Field[]} fields
 * @param {Limits} limits
 * @param {string} name of the kernel
 * @returns {OwnPass}
 */
function finish({ at, file, entry, grid, composed, chosen, names }, bound, fields, limits, name) {
  const most = limits.maxComputeWorkgroupsPerDimension;
  const [x, y = 1, z = 1] = grid.map((size, n) => {
    const count = numberFor(`${at}grid[${n}]`, size, "u32", names);
    if (count > most) {
      throw new Unsupported(
        `${name} needs ${count} workgroups in one dimension (${at}grid[${n}]: ${size}), this device ` +
          `takes ${most}; a dispatch of somebody's own kernel is not folded: use a smaller case`,
      );
    }
    return count;
  });
  // Our own common files count workgroups through: here all of them run in one dispatch.
  const whole = { first_workgroup: 0, end_workgroup: x * y * z, grid_width: x, slices: 1 };
  const all = { ...whole, ...names };
  const uniforms = Object.fromEntries(
    bound.flatMap(({ kind, variable }) => {
      if (kind !== "uniform") return [];
      const own = fields.filter((field) => field.variable === variable.name);
      return [[variable.name, packFields(own, variable.size, all)]];
    }),
  );
  const constants = chosen.pipeline;
  return { entry, file, composed, constants, grid: [x, y, z], bound, fields, names: all, uniforms };
}

/**
 * @param {readonly import("./reflect.js").Variable[]} variables
 * @param {Limits & {maxBindGroups?: number}} limits
 * @param {string} name of the kernel
 */
function checkGroups(variables, { maxBindGroups: most = 4 }, name) {
  const beyond = variables.find(({ group }) => !(group < most));
  if (beyond === undefined) return;
  throw new Unsupported(
    `${name} binds ${beyond.name} in @group(${beyond.group}), this device has groups 0 to ${most - 1}`,
  );
}

/**
 * @param {readonly string[]} want
 * @param {readonly Bound[]} bound
 * @param {string} file
 * @param {string} op
 */
function checkOutputs(want, bound, file, op) {
  // A backward is given o and lse by a forward.
  const own = want.filter((name) => op === "forward" || !["o", "lse", "attn"].includes(name));
  for (const name of own) {
    const variables = bound.filter((one) => one.kind === "tensor" && one.name === name);
    if (variables.length === 0) {
      if (name === "attn") throw new Unsupported(`attn=1: ${file} binds no attn`);
      const others = JSON.stringify(own.filter((one) => one !== name));
      throw new ManifestError(
        "outputs",
        `${name} is judged, but ${file} binds no variable for it; name the variable in bindings, or ` +
          `leave ${name} out of outputs: ${others} (fa2 check has --outputs, too)`,
      );
    }
    if (!variables.some(({ variable }) => variable.access === "read_write")) {
      const [{ variable }] = variables;
      throw new ManifestError(
        `bindings.${variable.name}`,
        `${name} is an output, but ${file} declares ${variable.name} as var<storage, read>`,
      );
    }
  }
}
