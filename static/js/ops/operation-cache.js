// @ts-check
/** Compiled operations by what they compute, so that a second call waits for nothing. */

/**
 * @typedef {import("../attention/index.js").Attention} Attention
 * @typedef {import("../attention/index.js").Spec} Spec
 * @typedef {import("../attention/index.js").Step} Step
 *
 * @typedef {object} Entry
 * @property {Promise<{steps: readonly Step[], destroy: () => void}>} prepared
 * @property {number} users callers that wait for it or submit it
 */

/** Operations kept beyond those in use. Each holds a uniform, a backward also its delta. */
const KEPT = 16;

export class OperationCache {
  #attention;
  #kept;
  /** @type {Map<string, Entry>} the one that was used last stands last */
  #entries = new Map();

  /** @param {Attention} attention @param {number} [kept] */
  constructor(attention, kept = KEPT) {
    this.#attention = attention;
    this.#kept = kept;
  }

  /**
   * Calls `submit` with the steps of an operation, in the order of submission, once it is compiled.
   * @template T
   * @param {Spec} spec
   * @param {string} kernel
   * @param {(steps: readonly Step[]) => Promise<T>} submit the operation stays until this ends
   * @returns {Promise<T>}
   */
  async use(spec, kernel, submit) {
    const key = JSON.stringify([kernel, spec]);
    const entry = this.#entries.get(key) ?? {
      prepared: this.#prepare(key, spec, kernel),
      users: 0,
    };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users++;
    try {
      const { steps } = await entry.prepared;
      return await submit(steps);
    } finally {
      entry.users--;
      this.#trim();
    }
  }

  /** Frees every operation, those in use when their work is submitted. */
  destroy() {
    this.#kept = 0;
    this.#trim();
  }

  /** @param {string} key @param {Spec} spec @param {string} kernel @returns {Entry["prepared"]} */
  #prepare(key, spec, kernel) {
    const prepared = this.#attention.prepare(spec, { kernel }).then((operation) => ({
      steps: operation.steps(),
      destroy: operation.destroy,
    }));
    prepared.catch(() => this.#entries.delete(key)); // what failed may be tried again
    return prepared;
  }

  #trim() {
    const idle = [...this.#entries].filter(([, { users }]) => users === 0);
    for (const [key, { prepared }] of idle.slice(0, Math.max(0, idle.length - this.#kept))) {
      this.#entries.delete(key);
      prepared.then(({ destroy }) => destroy());
    }
  }
}
