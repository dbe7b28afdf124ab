// @ts-check
import { librarySpec } from "./case-spec.js";
import { loaded } from "./lazy.js";

/** @typedef {import("./attention/index.js").Message} Message */
/** @typedef {import("./runner.js").Spec} Spec */

/**
 * @typedef {object} Checked
 * @property {string[]} files  that the case is made of, the kernels first
 * @property {string} main     of these, the kernel that does most of the work
 * @property {Message[]} messages
 */

const BASE = "/static/shaders/";

/**
 * Asks the page's device what its compiler says of a case's shaders, and knows their texts.
 *
 * Nothing runs, and the device stays as it is: the tiles are those that the adapter allows, which
 * a run would ask a device for.
 */
export class ShaderCheck {
  /** @type {Map<string, Promise<string>>} texts on disk */
  #texts = new Map();

  /**
   * @param {object} parts
   * @param {import("./device.js").DeviceKeeper} parts.devices
   * @param {import("./tuned-tables.js").TunedTables} parts.tables
   */
  constructor({ devices, tables }) {
    this.devices = devices;
    this.tables = tables;
  }

  /**
   * @param {{spec: Spec, kernel: string}} job
   * @param {Record<string, string>} edited texts by path
   * @returns {Promise<Checked>}
   * @throws {import("./attention/index.js").Unsupported} no kernel takes the case
   */
  async check({ spec: job, kernel }, edited) {
    const spec = librarySpec(job);
    const { diagnose } = await loaded("the library", import("./attention/index.js"));
    const { device, adapter } = await this.devices.acquire({});
    const { table: tuned } = await this.tables.of(adapter);
    /** @type {Record<string, string>} */
    const known = {};
    for (const [path, text] of this.#texts) known[path] = await text;
    const shaders = { ...known, ...edited };
    const options = { kernel, shaders, tuned, adapter: this.devices.described };
    const found = [await diagnose(device, spec, options)];
    const [{ plan }] = found;
    if (spec.op === "backward") {
      const forward = { ...options, kernel: plan.family };
      found.push(await diagnose(device, { ...spec, op: "forward" }, forward));
    }
    const files = [...new Set(found.flatMap((one) => one.files))];
    await Promise.all(files.map((path) => this.text(path).catch(() => "")));
    const hardest = plan.passes.reduce((a, b) => (b.work > a.work ? b : a));
    const messages = found.flatMap((one) => one.messages);
    // A forward and a backward share files.
    const each = new Map(messages.map((one) => [JSON.stringify(one), one]));
    return { files, main: hardest.file, messages: [...each.values()] };
  }

  /**
   * The text on disk, fetched once.
   *
   * @param {string} path
   * @returns {Promise<string>}
   */
  text(path) {
    const known = this.#texts.get(path);
    if (known) return known;
    const text = fetchText(path);
    this.#texts.set(path, text);
    text.catch(() => {
      if (this.#texts.get(path) === text) this.#texts.delete(path);
    });
    return text;
  }

  /** A file was saved: its text is another one. @param {string} [path] default: of any file */
  forget(path) {
    if (path === undefined) this.#texts.clear();
    else this.#texts.delete(path);
  }
}

/** @param {string} path */
async function fetchText(path) {
  const response = await fetch(`${BASE}${path}`, { cache: "no-cache" });
  if (!response.ok) throw new Error(`${path} cannot be read: ${response.status}`);
  return response.text();
}
