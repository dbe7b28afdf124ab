// @ts-check
/**
 * What makes a kernel tell what it computes: tile traces and `dbg()`.
 *
 * A line `// @trace CODE` is a comment, and code in a text that is composed for a trace, where it
 * stands in the same columns. A text that calls `dbg(tag, value)` is given these functions and
 * their buffer, and its entry point notes which workgroup and invocation it is. Line numbers stay.
 */
import { BINDINGS } from "./bindings.js";
import { Unsupported } from "./errors.js";
import { withoutComments } from "./wgsl-text.js";

/** @typedef {import("./types.js").Pass} Pass */
/** @typedef {import("./types.js").Plan} Plan */

/** The functions that a kernel may call, and the buffer. */
export const DBG_FILE = "common/dbg.wgsl";
/** What `@trace` lines call. */
export const TRACE_FILE = "common/trace.wgsl";
/** Where the buffer is bound unless the kernel has other plans. */
export const DBG_BINDING = BINDINGS.dbg;
/** The smallest buffer: its head, and room for one value. */
export const DBG_LEAST_BYTES = 48;

/** A line that tells state. */
export const HOOK = /^([ \t]*)\/\/ @trace (.*)$/gm;
const CALL = /\bdbg(?:_u|4)?\s*\(/;
const DEFINITION = /\bfn\s+dbg(?:_u|4)?\s*\(/;
const ENTRY = /@compute\b/;

/** What the entry point notes, as builtin and as name where the kernel has none. */
const BUILTINS = /** @type {const} */ ([
  ["workgroup_id", "dbg_workgroup_id", "vec3<u32>"],
  ["num_workgroups", "dbg_num_workgroups", "vec3<u32>"],
  ["local_invocation_index", "dbg_local_index", "u32"],
]);

/** Whether a text has lines that tell its state. @param {string} text */
export const hasHooks = (text) => text.search(HOOK) >= 0;

/**
 * The text with its `@trace` lines as code.
 * @param {string} text
 */
export const withHooks = (text) => text.replace(HOOK, "$1          $2");

/**
 * Whether a text calls dbg(), dbg_u() or dbg4() of this library, not ones of its own.
 * @param {string} text
 */
export function callsDebug(text) {
  if (!CALL.test(text)) return false;
  const code = withoutComments(text);
  return CALL.test(code) && !DEFINITION.test(code);
}

/**
 * A kernel's text whose entry points note who calls dbg().
 * @param {string} text
 * @returns {string} as many lines; texts without entry points are given back
 */
export function noteCaller(text) {
  let out = text;
  for (let from = 0; ; ) {
    const code = withoutComments(out);
    const at = code.slice(from).search(ENTRY);
    if (at < 0) return out;
    const open = code.indexOf("(", code.slice(from + at).search(/\bfn\s/) + from + at);
    const close = closingOf(code, open, "(", ")");
    const body = code.indexOf("{", close);
    if (open < 0 || close < 0 || body < 0) return out; // the compiler will say what is wrong
    const own = code.slice(open + 1, close);
    const found = BUILTINS.map(([builtin]) => nameOf(builtin, own, code));
    const missing = BUILTINS.filter((_, n) => found[n] === null).map(
      ([builtin, name, type]) => `@builtin(${builtin}) ${name}: ${type}`,
    );
    const [group, groups, lane] = found.map((name, n) => name ?? BUILTINS[n][1]);
    const note =
      ` dbg_workgroup = ${group}.x + ${groups}.x * (${group}.y + ${groups}.y * ${group}.z);` +
      ` dbg_invocation = ${lane};`;
    const comma = missing.length && /\S/.test(own) && !/,\s*$/.test(own) ? ", " : "";
    const head = out.slice(0, close) + comma + missing.join(", ");
    out = head + out.slice(close, body + 1) + note + out.slice(body + 1);
    from = head.length + (body - close) + note.length;
  }
}

/**
 * How an entry point calls a builtin value: a parameter, or a member of a parameter's struct.
 * @param {string} builtin @param {string} parameters @param {string} code
 * @returns {string | null}
 */
function nameOf(builtin, parameters, code) {
  const mark = `@builtin\\s*\\(\\s*${builtin}\\s*,?\\s*\\)\\s*(\\w+)\\s*:`;
  const direct = new RegExp(mark).exec(parameters);
  if (direct) return direct[1];
  for (const [, name, type] of parameters.matchAll(/(\w+)\s*:\s*(\w+)\s*(?=,|$)/g)) {
    const struct = new RegExp(`\\bstruct\\s+${type}\\s*\\{([^}]*)\\}`).exec(code);
    const member = struct && new RegExp(mark).exec(struct[1]);
    if (member) return `${name}.${member[1]}`;
  }
  return null;
}

/** @param {string} code @param {number} from @param {string} opening @param {string} closing */
function closingOf(code, from, opening, closing) {
  let depth = 0;
  for (let n = from; n >= 0 && n < code.length; n++) {
    depth += Number(code[n] === opening) - Number(code[n] === closing);
    if (depth === 0) return n;
  }
  return -1;
}

/**
 * A pass that tells something: what the composer is to do, and the pass with the buffer bound.
 *
 * @param {Pass} pass
 * @param {Readonly<Record<string, string>>} texts of the pass's files
 * @param {boolean} trace `@trace` lines are code
 * @param {number} most storage buffers a stage may bind on the device
 * @returns {{pass: Pass, also: string[], trace: boolean} | null} null: it tells nothing
 * @throws {Unsupported} the buffer is one too many
 */
export function instrumented(pass, texts, trace, most) {
  const hooked = trace && Object.values(texts).some(hasHooks);
  if (!hooked && !Object.values(texts).some(callsDebug)) return null;
  const count = pass.bindings.length + 1;
  if (count > most) {
    throw new Unsupported(
      `kernel ${pass.kernel} binds ${count} storage buffers when it is traced or calls dbg(), this ` +
        `device offers ${most} (maxStorageBuffersPerShaderStage); trace a forward, or use another adapter`,
    );
  }
  const bindings = [
    ...pass.bindings,
    /** @type {const} */ ({ name: "dbg", binding: DBG_BINDING, access: "write" }),
  ];
  return { pass: { ...pass, bindings }, also: [hooked ? TRACE_FILE : DBG_FILE], trace: hooked };
}

/**
 * A plan whose passes bind the buffer where they tell something.
 *
 * @param {Plan} plan
 * @param {readonly {pass: Pass, telling: ReturnType<typeof instrumented>}[]} parts one for each pass
 * @returns {Plan}
 */
export function withTelling(plan, parts) {
  if (parts.every(({ telling }) => telling === null)) return plan;
  const hooked = parts.filter(({ telling }) => telling?.trace);
  return Object.freeze({
    ...plan,
    passes: parts.map(({ pass }) => pass),
    buffers: { ...plan.buffers, dbg: DBG_LEAST_BYTES },
    traced: hooked.map(({ pass }) => pass.kernel),
  });
}
