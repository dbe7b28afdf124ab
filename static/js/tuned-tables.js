// @ts-check
import { checkTuned } from "./attention/index.js";

/** @typedef {import("./attention/index.js").TunedTable} TunedTable */
/** @typedef {import("./device.js").AdapterFacts} AdapterFacts */

/** The tiles that `fa2 tune` measured, as the server keeps them, one table an adapter. */
export class TunedTables {
  /** @type {Map<string, Promise<{table: TunedTable, warning: string}>>} by adapter */
  #known = new Map();
  #get;

  /** @param {(path: string) => Promise<any>} get  asks the server for JSON */
  constructor(get) {
    this.#get = get;
  }

  /**
   * The table of an adapter. One that this page's library cannot follow, or that cannot be had,
   * costs speed and nothing else: then it is empty, and the warning says why.
   *
   * @param {AdapterFacts} adapter
   */
  of({ vendor, architecture, device, description }) {
    const query = `${new URLSearchParams({ vendor, architecture, device, description })}`;
    const known = this.#known.get(query) ?? this.#ask(query);
    this.#known.set(query, known);
    return known;
  }

  /** @param {string} query @returns {Promise<{table: TunedTable, warning: string}>} */
  async #ask(query) {
    try {
      return { table: checkTuned(await this.#get(`/api/tuned?${query}`)), warning: "" };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { table: {}, warning: `the tuned table of this adapter is not used: ${why}` };
    }
  }
}
