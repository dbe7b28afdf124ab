// @ts-check
/**
 * The caller's buffers, held against what WebGPU demands of them: it would drop the whole submit, and
 * say so where few look.
 */
import { BINDINGS } from "./bindings.js";
import { SpecError } from "./errors.js";
import { knownKeys } from "./known-keys.js";
import { kindOf, shown } from "./shown.js";

/**
 * @typedef {import("./types.js").Plan} Plan
 * @typedef {import("./types.js").Buffers} Buffers
 * @typedef {{minStorageBufferOffsetAlignment: number, maxStorageBufferBindingSize: number}} Limits
 * @typedef {{buffer: GPUBuffer, offset: number, size: number}} Range bytes of a buffer
 */

// The value of GPUBufferUsage.STORAGE; the global does not exist where this module is only read.
const STORAGE = 0x80;

/** Of any operation: one set of buffers may serve several. */
const NAMES = [...Object.keys(BINDINGS), "qkv"];

/**
 * What a plan binds of the caller's.
 * @param {Plan} plan
 * @param {Buffers} buffers
 * @param {Limits} limits of the device
 * @returns {Record<string, Range>} by the name of the binding
 * @throws {SpecError} one is missing or no buffer, there is none of its name, does not hold what is needed or cannot be bound so,
 *   or what is written is something else as well
 */
export function boundBuffers(plan, buffers, limits) {
  knownKeys("buffers", buffers, NAMES);
  const all = plan.passes.flatMap((pass) => pass.bindings);
  const callers = all.filter(({ name }) => !(name in plan.scratch));
  const names = [...new Set(callers.map(({ name }) => name))];
  /** @type {Set<string>} */
  const written = new Set(
    callers.filter(({ access }) => access === "write").map(({ name }) => name),
  );
  /** @type {Record<string, Range>} */
  const bound = {};
  for (const name of names) {
    const shared = "qkv" in plan.buffers && ["q", "k", "v"].includes(name);
    const given = buffers[name] ?? (shared ? buffers.qkv : undefined);
    if (given === undefined || given === null) {
      throw new SpecError(`buffer ${name} is missing: this operation binds ${names.join(", ")}`);
    }
    bound[name] = rangeOf(name, given);
    checkRange(name, bound[name], plan.buffers[shared ? "qkv" : name], limits);
  }
  /** Whether some dispatch binds them so. @param {string} name @param {"read" | "write"} access */
  const binds =
    (name, access) =>
    (/** @type {import("./types.js").Pass} */ { bindings }) =>
      bindings.some((one) => one.name === name && one.access === access);
  // What another dispatch alone reads counts as well, unless it is itself an output.
  /** @param {string} name @param {string} other */
  const meet = (name, other) =>
    !written.has(other) || plan.passes.filter(binds(name, "write")).some(binds(other, "read"));
  for (const name of written) checkAlone(name, names, bound, meet);
  return bound;
}

/** @param {string} name @param {unknown} given @returns {Range} */
function rangeOf(name, given) {
  const binding = /** @type {GPUBufferBinding} */ (isBuffer(given) ? { buffer: given } : given);
  if (typeof binding !== "object" || binding === null || !isBuffer(binding.buffer)) {
    throw new SpecError(
      `buffer ${name} is ${told(given)}: must be a GPUBuffer, or {buffer, offset, size} of one`,
    );
  }
  const { buffer, offset = 0 } = binding;
  const { size = buffer.size - (Number.isInteger(offset) ? offset : 0) } = binding;
  for (const [what, value] of Object.entries({ offset, size })) {
    if (!Number.isInteger(value) || value < 0) {
      throw new SpecError(
        `buffer ${name} is bound with offset=${shown(offset)}, size=${shown(size)}, and is itself of ` +
          `${buffer.size} bytes; ${what} must be a whole number, 0 and up`,
      );
    }
  }
  return { buffer, offset, size };
}

/**
 * @param {string} name @param {Range} range @param {number} needed bytes @param {Limits} limits
 */
function checkRange(name, { buffer, offset, size }, needed, limits) {
  const { minStorageBufferOffsetAlignment: step, maxStorageBufferBindingSize: most } = limits;
  /** @param {string} why @returns {never} */
  const refuse = (why) => {
    throw new SpecError(`buffer ${name} ${why}`);
  };
  if ((buffer.usage & STORAGE) === 0) {
    refuse(`has usage ${buffer.usage}: create it with GPUBufferUsage.STORAGE among its usages`);
  }
  if (offset % step !== 0) {
    refuse(
      `is bound from byte ${offset} on, this device takes multiples of ${step} ` +
        "(minStorageBufferOffsetAlignment); bind it from an earlier byte and give strides.offset",
    );
  }
  if (size < needed) refuse(`has ${size} bytes bound, this operation needs ${needed}`);
  if (offset + size > buffer.size) {
    refuse(
      `is bound from byte ${offset} to ${offset + size}, and ends at ${buffer.size}; ` +
        "bind less of it, or create a larger one",
    );
  }
  if (size % 4 !== 0) {
    refuse(`has ${size} bytes bound, which must be a multiple of 4; ${part(needed)}`);
  }
  if (size > most) {
    refuse(
      `has ${size} bytes bound, this device binds up to ${most} (maxStorageBufferBindingSize); ` +
        part(needed),
    );
  }
}

/** @param {number} needed bytes */
const part = (needed) => `bind the ${needed} that are needed, {buffer, offset, size: ${needed}}`;

/**
 * Refuses what is written and lies in the same buffer as something that is read, which WebGPU forbids
 * within a dispatch wherever they lie, or over something else that is written.
 * @param {string} name of what is written
 * @param {readonly string[]} names
 * @param {Readonly<Record<string, Range>>} bound
 * @param {(name: string, other: string) => boolean} meet whether `other` is read beside it
 */
function checkAlone(name, names, bound, meet) {
  const { buffer, offset, size } = bound[name];
  for (const other of names) {
    const one = bound[other];
    if (other === name || one.buffer !== buffer) continue;
    if (meet(name, other)) {
      throw new SpecError(
        `buffer ${name} is written, and ${other}, which is read, lies in the same GPUBuffer; ` +
          "create another for one of them",
      );
    }
    if (offset < one.offset + one.size && one.offset < offset + size) {
      throw new SpecError(
        `buffers ${name} and ${other} are both written and share bytes ` +
          `${Math.max(offset, one.offset)} to ${Math.min(offset + size, one.offset + one.size)} of ` +
          "one GPUBuffer; bind parts that do not overlap, {buffer, offset, size}, or two buffers",
      );
    }
  }
}

/**
 * By its shape: a buffer of another frame is none of this frame's GPUBuffer.
 * @param {any} value
 * @returns {value is GPUBuffer}
 */
const isBuffer = (value) =>
  typeof value === "object" &&
  value !== null &&
  [value.size, value.usage].every((number) => Number.isInteger(number));

/** @param {unknown} value */
function told(value) {
  if (typeof value !== "object" || value === null) return shown(value);
  // The numbers themselves: millions of keys that say nothing.
  if (ArrayBuffer.isView(value) || Array.isArray(value)) return kindOf(value);
  return `${kindOf(value)} {${Object.keys(value).slice(0, 3).join(", ")}}`;
}
