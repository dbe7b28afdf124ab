// @ts-check
/** What each variable of a text stands for: from the manifest, else from its name. */

import { TENSOR_NAMES, tensorMeant, valueMeant } from "./aliases.js";
import { ManifestError } from "./errors.js";

/** @typedef {import("./types.js").Manifest} Manifest */
/** @typedef {import("./types.js").Bound} Bound */
/** @typedef {import("./types.js").Field} Field */
/** @typedef {import("./reflect.js").Variable} Variable */

/** The buffer that dbg() writes to, as runs call it, and its variable in common/dbg.wgsl. */
export const DBG = "dbg";
const DBG_VARIABLE = "dbg_buffer";

/**
 * Every name in the manifest's bindings is that of a storage variable.
 *
 * @param {Manifest} manifest
 * @param {readonly Variable[]} variables that some pass binds
 * @param {string} file named in messages
 * @throws {ManifestError}
 */
export function checkBindings({ bindings = {} }, variables, file) {
  const storage = variables.filter(({ access }) => access !== "uniform");
  for (const name of Object.keys(bindings)) {
    const variable = variables.find((one) => one.name === name);
    if (variable === undefined) {
      throw new ManifestError(
        `bindings.${name}`,
        `${file} binds no such variable; it binds ${listed(storage)}`,
      );
    }
    if (variable.access === "uniform") {
      throw new ManifestError(
        `bindings.${name}`,
        `${name} is a uniform; its members belong into uniforms`,
      );
    }
  }
}

/**
 * What the variables of a pass stand for.
 *
 * @param {Manifest} manifest
 * @param {readonly Variable[]} variables
 * @param {import("./open.js").OpenEnds} open told of variables that stand for nothing
 * @returns {Bound[]} one for each other variable
 * @throws {ManifestError} a buffer is bound twice and written
 */
export function bindVariables(manifest, variables, open) {
  const { bindings = {}, scratch = {}, uniforms = {} } = manifest;
  /** @param {Variable} variable @returns {Bound | null} */
  const boundOf = (variable) => {
    const { name, access, members } = variable;
    if (access === "uniform") return { variable, kind: "uniform", name, from: "text" };
    if (name === DBG_VARIABLE) return { variable, kind: "tensor", name: DBG, from: "text" };
    const said = Object.hasOwn(bindings, name) ? bindings[name] : undefined;
    const meant = said ?? (Object.hasOwn(scratch, name) ? name : tensorMeant(name));
    const from = said === undefined ? "text" : "manifest";
    if (meant !== undefined && Object.hasOwn(scratch, meant)) {
      return { variable, kind: "scratch", name: meant, from };
    }
    if (meant !== undefined && TENSOR_NAMES.includes(meant)) {
      return { variable, kind: "tensor", name: meant, from };
    }
    // Sizes and strides in a storage buffer, as some kernels have them.
    if (
      access === "read" &&
      members !== null &&
      members.every((m) => known(m.path || name, uniforms))
    )
      return { variable, kind: "uniform", name, from: "text" };
    open.variable(name);
    return null;
  };
  const bound = variables.map(boundOf).filter((one) => one !== null);
  checkTwice(bound);
  return bound;
}

/**
 * WebGPU forbids a buffer to be written in a dispatch that binds it twice.
 *
 * @param {readonly Bound[]} bound of a pass
 */
function checkTwice(bound) {
  for (const [n, { kind, name, variable }] of bound.entries()) {
    const other = bound.slice(0, n).find((one) => one.kind === kind && one.name === name);
    if (kind === "uniform" || other === undefined) continue;
    if ([variable, other.variable].some(({ access }) => access === "read_write")) {
      throw new ManifestError(
        `bindings.${variable.name}`,
        `${other.variable.name} is bound to ${name} already, and one of the two is written`,
      );
    }
  }
}

/** @param {string} path @param {NonNullable<Manifest["uniforms"]>} uniforms */
const known = (path, uniforms) =>
  Object.hasOwn(uniforms, path) || padding(path) || valueMeant(path) !== undefined;

/** @param {string} path */
const padding = (path) => /(^|\.)(_|pad)\w*(\[\d+\])*$/i.test(path);

/**
 * What the members of a pass's uniforms hold.
 *
 * @param {Manifest} manifest
 * @param {readonly Bound[]} bound
 * @param {import("./open.js").OpenEnds} open told of members without a value
 * @returns {Field[]} of the others
 * @throws {ManifestError} a value that does not fit its member
 */
export function fillUniforms({ uniforms = {} }, bound, open) {
  return bound
    .filter(({ kind }) => kind === "uniform")
    .flatMap(({ variable }) => {
      if (variable.members === null) {
        throw new ManifestError(
          `uniforms.${variable.name}`,
          variable.size > 0
            ? `${variable.type} has ${variable.size} bytes, more than any uniform has`
            : "an array without an end is no uniform",
        );
      }
      return variable.members.flatMap((member) => {
        const name = namesOf(variable.name, member).find((one) => Object.hasOwn(uniforms, one));
        const said = name === undefined ? undefined : uniforms[name];
        const field = fieldOf(variable, member, said);
        if (field === null) open.member(member.path || variable.name, member);
        return field ?? [];
      });
    });
}

/** What a manifest may call a member. @param {string} variable @param {{path: string}} member */
const namesOf = (variable, { path }) => [`${variable}.${path}`, path || variable];

/**
 * Every name in the manifest's uniforms is that of a member.
 *
 * @param {Manifest} manifest
 * @param {readonly Field[]} fields of all passes
 * @param {string} file named in messages
 * @throws {ManifestError}
 */
export function checkUniforms({ uniforms = {} }, fields, file) {
  const known = new Set(fields.flatMap(({ variable, member }) => namesOf(variable, member)));
  const stray = Object.keys(uniforms).find((name) => !known.has(name));
  if (stray !== undefined) {
    const all = [...new Set(fields.map(({ variable, member }) => member.path || variable))].join(
      ", ",
    );
    throw new ManifestError(
      `uniforms.${stray}`,
      `no uniform of ${file} has such a member; they have ${all || "none"}`,
    );
  }
}

/**
 * @param {Variable} variable
 * @param {import("./reflect.js").Member} member
 * @param {import("./types.js").Expression | import("./types.js").Expression[] | undefined} said
 * @returns {Field | null} null = nothing says what it holds
 */
function fieldOf(variable, member, said) {
  const path = member.path || variable.name;
  const field = `uniforms.${path}`;
  if (said !== undefined) {
    const values = Array.isArray(said) ? said : [said];
    if (values.length !== member.count) {
      throw new ManifestError(
        field,
        `${path} has ${member.count} components, ${values.length} values are given`,
      );
    }
    return { variable: variable.name, member, values, from: "manifest" };
  }
  const meant = valueMeant(path);
  if (meant !== undefined && member.count === 1) {
    return { variable: variable.name, member, values: [meant], from: "text" };
  }
  if (padding(path)) {
    return { variable: variable.name, member, values: Array(member.count).fill(0), from: "text" };
  }
  return null;
}

/** @param {readonly Variable[]} variables */
const listed = (variables) => variables.map(({ name }) => name).join(", ") || "none";
