// @ts-check
/**
 * What a WGSL text says of itself: entry points, the variables that each of them binds, the layout
 * of its uniforms, override constants. Read with wgsl_reflect, which is loaded when first needed.
 */

import { withoutComments } from "../attention/compose.js";

/**
 * @typedef {object} Member a scalar or a vector in a buffer
 * @property {string} path "T", "shape.T", "rows[2]"; "" when the buffer is nothing else
 * @property {string} type of a component: "u32", "i32", "f32", "f16"
 * @property {number} count of components
 * @property {number} offset bytes
 */

/**
 * @typedef {object} Variable
 * @property {string} name
 * @property {number} group
 * @property {number} binding
 * @property {"uniform" | "read" | "read_write"} access
 * @property {readonly Member[] | null} members of fixed size; null for an array without an end, and
 *   for what is larger than any uniform
 * @property {string} type as people write it: "array<f32>"
 * @property {number} size bytes; 0 for an array without an end
 * @property {number} measured bytes of an element, where the text asks for the length of the array;
 *   0 where it does not
 */

/**
 * @typedef {object} Override
 * @property {string} name
 * @property {string} key what a pipeline's `constants` call it: its id, else its name
 * @property {string} type "u32", "i32", "f32", "f16", "bool"
 * @property {number | undefined} value its default, where that is a number; NaN = an expression
 */

/**
 * @typedef {object} Reflection
 * @property {ReadonlyMap<string, readonly Variable[]>} entries what each entry point binds
 */

/**
 * Names that WGSL reserves nowhere and wgsl_reflect takes for keywords; we call a workgroup so.
 * Those within `var<…>` and `ptr<…>` stay.
 */
const NOT_RESERVED =
  /\b(?:var|ptr)\s*<\s*[a-z_]+|\b(workgroup|private|function|storage|uniform|read|write)\b(?!\s*>)/g;

/** What adapters take at most; many take a quarter of it. */
const MOST_UNIFORM_BYTES = 2 ** 18;

/** What makes such a name another one, for as long as it is read. */
const MARK = "_n0t_reserved";

/**
 * @param {string} text
 * @returns {Promise<Reflection>}
 * @throws {Error} wgsl_reflect cannot read it
 */
export async function reflect(text) {
  const { WgslReflect } = await import("../vendor/wgsl_reflect.js");
  const readable = withoutComments(text)
    .replace(NOT_RESERVED, (all, name) => (name ? `${name}${MARK}` : all))
    // Expressions in this attribute are beyond it, and nobody here asks for their value.
    .replace(/@workgroup_size\s*\(((?:[^()]|\([^()]*\))*)\)/g, (all, list) =>
      /^[\w\s,]*$/.test(list) ? all : "@workgroup_size(1)",
    );
  const found = new WgslReflect(readable);
  const measured = measuredIn(
    readable,
    found.storage.map(({ name }) => name),
  );
  return {
    entries: new Map(
      found.entry.compute.map(({ name, resources }) => [
        plain(name),
        resources.map((one) => variableOf(one, measured.has(one.name))),
      ]),
    ),
  };
}

/** The name as it stands in the text. @param {string} name */
const plain = (name) => name.replaceAll(MARK, "");

/**
 * The variables whose length a text asks for: `arrayLength(&out)`. What a pointer points to, as in
 * `arrayLength(p)`, is not followed: it may be any of them.
 *
 * @param {string} code without comments
 * @param {readonly string[]} storage names of its variables
 */
function measuredIn(code, storage) {
  const asked = [...code.matchAll(/\barrayLength\s*\(([\s(]*&[\s(]*(\w+))?/g)].map(
    ([, , name]) => name,
  );
  return new Set(asked.every((name) => storage.includes(name)) ? asked : storage);
}

/** @param {any} type TypeInfo of wgsl_reflect @returns {number} bytes of an element of its last array */
function elementBytes(type) {
  if (type.isStruct) return elementBytes(type.members[type.members.length - 1].type);
  return type.isArray ? type.stride : 0;
}

/** @param {import("wgsl_reflect").VariableInfo} info @param {boolean} measured @returns {Variable} */
function variableOf(info, measured) {
  const { group, binding, resourceType } = info;
  const name = plain(info.name);
  const UNIFORM = 0;
  const STORAGE = 1;
  if (resourceType !== UNIFORM && resourceType !== STORAGE) {
    throw new Error(`${name} is neither a uniform nor a storage buffer`);
  }
  const writes = info.access.includes("write");
  return {
    name,
    group,
    binding,
    access: resourceType === UNIFORM ? "uniform" : writes ? "read_write" : "read",
    members: membersWithin(info)?.map((m) => ({ ...m, path: plain(m.path) })) ?? null,
    type: info.type.getTypeName().replace(/, 0>$/, ">"),
    size: info.size,
    measured: measured ? elementBytes(info.type) : 0,
  };
}

/**
 * One by one they are wanted of what holds sizes, never of `array<f32, 268435456>`.
 *
 * @param {import("wgsl_reflect").VariableInfo} info
 */
const membersWithin = ({ type, size }) =>
  size > MOST_UNIFORM_BYTES ? null : membersOf(type, "", 0);

/**
 * @param {any} type TypeInfo of wgsl_reflect
 * @param {string} path
 * @param {number} offset
 * @returns {Member[] | null} null when an array has no end
 */
function membersOf(type, path, offset) {
  if (type.isStruct) {
    const each = type.members.map((/** @type {any} */ member) =>
      membersOf(member.type, path ? `${path}.${member.name}` : member.name, offset + member.offset),
    );
    return each.includes(null) ? null : each.flat();
  }
  if (type.isArray) {
    if (!type.count) return null;
    const each = Array.from({ length: type.count }, (_, n) =>
      membersOf(type.format, `${path}[${n}]`, offset + n * type.stride),
    );
    return each.includes(null) ? null : /** @type {Member[]} */ (each.flat());
  }
  const [, size, suffix] = /^vec([234])([iufh]?)$/.exec(type.name) ?? [];
  if (size === undefined) return [{ path, type: type.name, count: 1, offset }];
  const short = { i: "i32", u: "u32", f: "f32", h: "f16" };
  const component = suffix ? short[/** @type {"u"} */ (suffix)] : type.format.name;
  return [{ path, type: component, count: Number(size), offset }];
}

/** @param {string} code @returns {Override[]} */
function overridesOf(code) {
  const found = code.matchAll(
    /(?:@id\s*\(\s*(\d+)\s*\)\s*)?\boverride\s+(\w+)\s*(?::\s*(\w+))?\s*(?:=\s*([^;]+?)\s*)?;/g,
  );
  return [...found].map(([, id, name, type, value]) => ({
    name,
    key: id ?? name,
    type: type ?? typeOfLiteral(value ?? ""),
    value: value === undefined ? undefined : numberOf(value),
  }));
}

/** @param {string} code @returns {Record<string, number>} */
function constantsOf(code) {
  const found = [...code.matchAll(/\bconst\s+(\w+)\s*(?::\s*\w+\s*)?=\s*([\w.]+)\s*;/g)];
  return Object.fromEntries(
    found.flatMap(([, name, value]) =>
      Number.isNaN(numberOf(value)) ? [] : [[name, numberOf(value)]],
    ),
  );
}

/** @param {string} text of a literal */
function typeOfLiteral(text) {
  if (/^(true|false)$/.test(text)) return "bool";
  if (/^\d+u$/.test(text)) return "u32";
  return /[.f]/.test(text) ? "f32" : "i32";
}

/** A literal's value, NaN for any other expression. @param {string} text */
function numberOf(text) {
  if (text === "true" || text === "false") return Number(text === "true");
  return /^-?\d+(\.\d*)?(e[-+]?\d+)?[uifh]?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
}

/**
 * What the constants of a text are: enough to choose their values, before it is composed.
 *
 * @param {string} text
 * @returns {{code: string, overrides: Override[], constants: Record<string, number>}}
 */
export function overridesIn(text) {
  const code = withoutComments(text);
  return { code, overrides: overridesOf(code), constants: constantsOf(code) };
}
