// @ts-check
import { isSoftware, usefulFeatures } from "./attention/facts.js";
import { RunError } from "./run-error.js";

/**
 * From a page to a GPU device, in the four steps that can fail, and the keeping of that device.
 *
 * An adapter yields one device, so every device gets an adapter of its own (gpuweb #4352). A
 * device is kept between cases, since its pipelines are worth keeping, and replaced when it is
 * lost, suspect, or lacks limits that the next case needs.
 */

/** @typedef {"secure-context" | "navigator.gpu" | "adapter" | "device"} Step */

/** The first step that failed: what happened, and what to do about it. */
export class NoWebGPU extends RunError {
  /**
   * @param {Step} step
   * @param {string} message
   * @param {string} remedy
   */
  constructor(step, message, remedy) {
    super("no-adapter", `${message} ${remedy}`);
    this.step = step;
    this.summary = message;
    this.remedy = remedy;
  }
}

/**
 * @typedef {object} AdapterFacts what a report says of the adapter
 * @property {string} vendor
 * @property {string} architecture
 * @property {string} device
 * @property {string} description
 * @property {boolean} fallback  it computes on the CPU
 * @property {string[]} features  those that devices are given if they are asked for
 * @property {string[]} withheld  what the adapter offers beside them and kernels must do without
 * @property {Record<string, number>} limits  the most that a device of it may be given
 */

/** @typedef {import("./attention/index.js").Described} Described what the library wants to know */

/**
 * @typedef {object} Held a device in use
 * @property {GPUDevice} device
 * @property {AdapterFacts} adapter
 * @property {string[]} errors  what `uncapturederror` brought since the last case
 */

/** @returns {Promise<GPUAdapter>} */
export async function requestAdapter() {
  if (!globalThis.isSecureContext) {
    throw new NoWebGPU(
      "secure-context",
      `${location.origin} is not a secure context, and browsers offer WebGPU in secure contexts only.`,
      `Open this page over https, or as http://localhost${location.port && `:${location.port}`}.`,
    );
  }
  if (!navigator.gpu) {
    throw new NoWebGPU(
      "navigator.gpu",
      "This browser has no WebGPU (navigator.gpu is undefined).",
      "Chrome and Edge have it from 113 (Windows, macOS, ChromeOS), 121 (Android) and 144 (Linux); " +
        "Safari from 26; Firefox from 141 (Windows) and 145 (macOS), elsewhere with " +
        "dom.webgpu.enabled set in about:config.",
    );
  }
  const adapter = await navigator.gpu.requestAdapter().catch(() => null);
  if (!adapter) {
    throw new NoWebGPU(
      "adapter",
      "The browser has WebGPU but offers no adapter (requestAdapter() gave null).",
      "Without a GPU, or on Linux, start Chromium with --enable-unsafe-webgpu, which also admits " +
        "the software adapter. With a GPU, update its driver and see chrome://gpu " +
        "(about:support in Firefox). If it worked before, restart the browser: after a few " +
        "crashes of the GPU process it stops offering adapters.",
    );
  }
  return adapter;
}

/**
 * @param {GPUAdapter} adapter
 * @param {readonly string[]} [without] features that kernels must do without
 * @returns {AdapterFacts}
 */
function adapterFacts(adapter, without = []) {
  const { vendor, architecture, device, description } = adapter.info;
  const { isFallbackAdapter } = /** @type {{isFallbackAdapter?: boolean}} */ (adapter);
  const fallback = isFallbackAdapter === true || isSoftware(adapter.info);
  return {
    vendor,
    architecture,
    device,
    description,
    fallback,
    features: [...adapter.features].filter((name) => !without.includes(name)).sort(),
    withheld: without.filter((name) => adapter.features.has(name)),
    limits: limitsOf(adapter.limits),
  };
}

/**
 * GPUSupportedLimits keeps its numbers in getters of its prototype: `for in` reaches them.
 *
 * @param {GPUSupportedLimits} supported
 * @returns {Record<string, number>}
 */
function limitsOf(supported) {
  /** @type {Record<string, number>} */
  const limits = {};
  for (const name in supported) {
    const value = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (supported))[name];
    if (typeof value === "number") limits[name] = value;
  }
  return limits;
}

/** Keeps at most one device. */
export class DeviceKeeper {
  #without;
  /** @type {Held | null} */
  #held = null;
  /** @type {GPUAdapter | null} an adapter that has not yielded its device yet */
  #fresh = null;

  /** @type {AdapterFacts | null} the adapter seen last */
  #facts = null;
  /** @type {Described | null} the same adapter */
  #described = null;
  /** @type {Record<string, number>} limits asked for so far */
  #asked = {};
  /** The caller before this one. @type {Promise<unknown>} */
  #opening = Promise.resolve();

  /** @param {readonly string[]} [without] features that no device is asked to have */
  constructor(without = []) {
    this.#without = without;
  }

  /** What is known of the adapter; null before one was seen. */
  get adapter() {
    return this.#facts;
  }

  /** The adapter as the library describes one. @throws {Error} before one was seen */
  get described() {
    if (this.#described === null) throw new Error("no adapter was seen yet: look() comes first");
    return this.#described;
  }

  /** The limits of the device in use; {} without one. */
  get limits() {
    return this.#held ? limitsOf(this.#held.device.limits) : {};
  }

  /**
   * What the adapter offers, without a device.
   *
   * @returns {Promise<AdapterFacts>}
   */
  async look() {
    if (this.#held) return this.#held.adapter;
    this.#fresh ??= await requestAdapter();
    this.#see(this.#fresh);
    return /** @type {AdapterFacts} */ (this.#facts);
  }

  /**
   * A device with at least these limits.
   *
   * The limits of the device before it are kept when one more is asked for: cases that alternate
   * between two needs must not build their pipelines anew each time.
   *
   * One caller after another: two that open at once would destroy each other's device.
   *
   * @param {Record<string, number>} required
   * @returns {Promise<Held>}
   */
  acquire(required) {
    const turn = this.#opening.then(() => this.#acquire(required));
    this.#opening = turn.catch(() => {});
    return turn;
  }

  /** @param {Record<string, number>} required @returns {Promise<Held>} */
  async #acquire(required) {
    const has = this.limits;
    if (this.#held && Object.entries(required).every(([name, n]) => has[name] >= n)) {
      return this.#held;
    }
    const wanted = { ...required };
    for (const [name, n] of Object.entries(this.#asked)) {
      wanted[name] = Math.max(n, wanted[name] ?? 0);
    }
    const adapter = this.#fresh ?? (await requestAdapter());
    this.discard();
    this.#see(adapter);
    this.#held = await openDevice(adapter, wanted, this.#without);
    this.#asked = wanted;
    this.#dropWhenLost(this.#held);
    return this.#held;
  }

  /** Destroys the device: after a loss, a timeout, exhausted memory, or anything doubtful. */
  discard() {
    this.#held?.device.destroy();
    this.#held = null;
    this.#fresh = null;
  }

  /** @param {GPUAdapter} adapter */
  #see(adapter) {
    this.#facts = adapterFacts(adapter, this.#without);
    const { limits, info } = adapter;
    this.#described = { limits, info, features: this.#facts.features };
  }

  /** @param {Held} held */
  #dropWhenLost(held) {
    held.device.lost.then(() => {
      if (this.#held === held) this.discard();
    });
  }
}

/**
 * @param {GPUAdapter} adapter
 * @param {Record<string, number>} requiredLimits
 * @param {readonly string[]} without
 * @returns {Promise<Held>}
 */
async function openDevice(adapter, requiredLimits, without) {
  const facts = adapterFacts(adapter, without);
  const requiredFeatures = usefulFeatures(facts.features);
  if (adapter.features.has("timestamp-query")) requiredFeatures.push("timestamp-query");
  let device;
  try {
    device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new NoWebGPU(
      "device",
      `The adapter refused a device: ${reason}`,
      "Reload the page; if it stays so, restart the browser.",
    );
  }
  /** @type {string[]} */
  const errors = [];
  device.addEventListener("uncapturederror", (event) => {
    errors.push(/** @type {GPUUncapturedErrorEvent} */ (event).error.message);
  });
  return { device, adapter: facts, errors };
}
