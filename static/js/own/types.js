// @ts-check
/**
 * A manifest as the server hands it on: checked by its schema (server/schemas_own.py), but not yet
 * held against the text of the kernel.
 */

/** @typedef {string | number} Expression as size-expression.js reads them, or a number */

/**
 * @typedef {object} PassManifest
 * @property {string} [entry] the only entry point if left out
 * @property {Expression[]} [grid] workgroups in x, y, z
 * @property {string} [file] whose entry point it is
 * @property {Record<string, ConstantValue>} [constants] beside the manifest's, for this pass
 */

/** @typedef {Expression | boolean | {value: Expression, type: string}} ConstantValue */

/**
 * @typedef {object} Supports
 * @property {string[]} [dtype]
 * @property {boolean[]} [causal]
 * @property {string[]} [align]
 * @property {string[]} [layout]
 * @property {string[]} [bias]
 * @property {boolean} [cross] Tq ≠ Tk
 * @property {boolean} [grouped] Hkv < H
 * @property {boolean} [empty_rows] rows that see no key
 * @property {boolean} [window]
 * @property {boolean} [softcap]
 * @property {number} [max_D]
 * @property {number} [max_T]
 * @property {number} [D_multiple_of]
 * @property {number} [T_multiple_of]
 */

/**
 * @typedef {PassManifest & {
 *   name?: string,
 *   op?: "forward" | "backward",
 *   passes?: PassManifest[],
 *   bindings?: Record<string, string>,
 *   uniforms?: Record<string, Expression | Expression[]>,
 *   scratch?: Record<string, Expression | {bytes: Expression, zero?: boolean}>,
 *   tile?: {Br: Expression, Bc: Expression},
 *   outputs?: string[],
 *   supports?: Supports,
 *   forward?: Manifest,
 * }} Manifest
 */

/**
 * A kernel that is not ours, as a job brings it.
 *
 * @typedef {object} Own
 * @property {string} name
 * @property {Manifest} manifest
 * @property {Record<string, string>} files  texts by name; the first is the kernel's
 */

/**
 * What a variable of the text stands for.
 *
 * @typedef {object} Bound
 * @property {import("./reflect.js").Variable} variable
 * @property {"tensor" | "scratch" | "uniform"} kind
 * @property {string} name of the tensor or scratch buffer; of a uniform, the variable's
 * @property {"manifest" | "text"} from who said so
 */

/**
 * What a member of a uniform holds.
 *
 * @typedef {object} Field
 * @property {string} variable
 * @property {import("./reflect.js").Member} member
 * @property {Expression[]} values one for each component
 * @property {"manifest" | "text"} from
 */

export {};
