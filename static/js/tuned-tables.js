// @ts-check
import { loaded } from "./lazy.js";

/** @typedef {import("./attention/index.js").TunedTable} TunedTable */
/** @typedef {import("./device.js").AdapterFacts} AdapterFacts */
/** @typedef {{table: TunedTable, warning: string}} Answer */

/** The tiles that `fa2 tune` measured, as the server keeps them, one table an adapter. */
export class TunedTables {
  /** @type {Map<string, {said: string, answer: Answer}>} the last answer, by adapter */
  #known = new Map();
  /** @type {Map<string, Promise<Answer>>} of callers that ask at the same time */
  #asked = new Map();
  #get;

  /** @param {(path: string) => Promise<any>} get  asks the server for JSON */
  constructor(get) {
    this.#get = get;
  }

  /**
   * The table of an adapter as it is now: `fa2 tune` may have written another one since the last
   * run. As long as it says the same it is the same object, by which compiled kernels are kept.
   *
   * One that this page's library cannot follow, or that cannot be had, costs speed and nothing
   * else: then it is empty, and the warning says why.
   *
   * @param {AdapterFacts} adapter
   */
  of({ vendor, architecture, device, description }) {
    const query = `${new URLSearchParams({ vendor, architecture, device, description })}`;
    const asked = this.#asked.get(query) ?? this.#ask(query);
    this.#asked.set(query, asked);
    return asked;
  }

  /** @param {string} query @returns {Promise<Answer>} */
  async #ask(query) {
    try {
      const table = await this.#get(`/api/tuned?${query}`);
      const { checkTuned } = await loaded("the library", import("./attention/index.js"));
      return this.#kept(query, JSON.stringify(table), () => ({
        table: checkTuned(table),
        warning: "",
      }));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const warning = `the tuned table of this adapter is not used: ${why}`;
      return this.#kept(query, warning, () => ({ table: {}, warning }));
    } finally {
      this.#asked.delete(query);
    }
  }

  /** @param {string} query @param {string} said @param {() => Answer} make */
  #kept(query, said, make) {
    const known = this.#known.get(query);
    if (known?.said === said) return known.answer;
    const answer = make();
    this.#known.set(query, { said, answer });
    return answer;
  }
}
