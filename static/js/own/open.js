// @ts-check
/** What neither a manifest nor its text says, gathered so that all of it is told at once. */

import { TENSOR_NAMES } from "./aliases.js";
import { known } from "./constants.js";
import { ManifestError } from "./errors.js";
import { VALUE_NAMES } from "./values.js";

/** @typedef {import("./types.js").Manifest} Manifest */
/** @typedef {import("./types.js").Bound} Bound */
/** @typedef {import("./reflect.js").Member} Member */

/** No expression: who pastes them as they are is told so by the field's name. */
const WHOLE = "<B|H|Hkv|Tq|Tk|D|…>";
const TENSOR = "<q|k|v|o|lse|…>";
const REAL = "<scale|scale_log2|softcap>";

/** Characters of a manifest that is shown, and names beside the first: who has more writes a file. */
const MOST = 2000;
const NAMED = 24;

export class OpenEnds {
  /** @type {Set<string>} */
  #variables = new Set();
  /** @type {Map<string, Member>} by the name that a manifest uses */
  #members = new Map();

  /** A variable that stands for nothing. @param {string} name */
  variable(name) {
    this.#variables.add(name);
  }

  /** A member without a value. @param {string} name @param {Member} member */
  member(name, member) {
    this.#members.set(name, member);
  }

  /**
   * @param {Manifest} manifest
   * @param {readonly Bound[]} bound of all passes, as far as they stand for something
   * @param {readonly string[]} want names of the outputs that are judged
   * @throws {ManifestError} something is open
   */
  check(manifest, bound, want) {
    const variables = [...this.#variables];
    const members = [...this.#members.keys()];
    if (variables.length + members.length === 0) return;
    const tensors = [...TENSOR_NAMES, ...Object.keys(manifest.scratch ?? {})];
    const said = [
      ...listed(
        variables,
        "the name says neither a tensor nor a scratch buffer",
        `the names for bindings are ${tensors.join(", ")}`,
      ),
      ...listed(members, "no value is known by that name", `for uniforms ${known(VALUE_NAMES)}`),
    ];
    const field = variables.length ? `bindings.${variables[0]}` : `uniforms.${members[0]}`;
    const completed = JSON.stringify(this.#completed(manifest, bound, want));
    const draft = completed.length > MOST ? "" : `. A manifest to complete:\n${completed}`;
    throw new ManifestError(field, `${said.join("; ")}${draft}`);
  }

  /**
   * The manifest with a placeholder for everything that is open.
   *
   * @param {Manifest} manifest @param {readonly Bound[]} bound @param {readonly string[]} want
   */
  #completed({ op, bindings, uniforms, outputs, ...rest }, bound, want) {
    const names = Object.fromEntries([...this.#variables].map((name) => [name, TENSOR]));
    const values = Object.fromEntries(
      [...this.#members].map(([name, { type, count }]) => {
        const one = type === "f32" ? REAL : WHOLE;
        return [name, count === 1 ? one : Array(count).fill(one)];
      }),
    );
    const found = want.filter((name) => bound.some((one) => one.name === name));
    // A variable of an unknown name may be the output that is missing.
    const some = found.length > 0 && this.#variables.size === 0 ? found : want;
    const judged = outputs ?? (some.length < want.length && op !== "backward" ? some : undefined);
    return {
      ...(op === "backward" ? { op } : {}),
      ...rest,
      ...(bindings || this.#variables.size ? { bindings: { ...bindings, ...names } } : {}),
      ...(uniforms || this.#members.size ? { uniforms: { ...uniforms, ...values } } : {}),
      ...(judged ? { outputs: judged } : {}),
    };
  }
}

/** @param {string[]} names @param {string} reason @param {string} allowed */
function listed([first, ...more], reason, allowed) {
  if (first === undefined) return [];
  const rest = more.length > NAMED ? ` and ${more.length - NAMED} more` : "";
  const others = more.length ? `, nor by ${more.slice(0, NAMED).join(", ")}${rest}` : "";
  return [`${reason}${others}; ${allowed}`];
}
