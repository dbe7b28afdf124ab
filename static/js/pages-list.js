// @ts-check

/** The pages that a server knows, as people tell them apart. */

/**
 * @typedef {object} PageFacts  one of GET /api/pages
 * @property {string} page
 * @property {string} label
 * @property {boolean} connected
 * @property {boolean} idle
 * @property {string | null} run
 * @property {string | null} doing
 * @property {{ok: boolean, message?: string | null, engine?: string,
 *   adapter?: Partial<import("./device.js").AdapterFacts> | null} | null} environment
 *
 * @typedef {object} Device  a connected page
 * @property {string} page
 * @property {string} name    its own, else its browser's, with a part of its id if others share it
 * @property {string} engine
 * @property {string} adapter "" = has not said yet, or has none
 * @property {boolean} software  it computes on the CPU
 * @property {boolean} usable    it has a WebGPU adapter, as far as is known
 * @property {string} why        why it is not usable
 * @property {string} doing      "" = idle
 * @property {boolean} here      it is the page that asks
 */

/**
 * The connected pages, this one first, the others oldest first.
 *
 * @param {PageFacts[]} pages
 * @param {string} here  id of the page that asks
 * @returns {Device[]}
 */
export function devicesOf(pages, here) {
  const connected = pages.filter((one) => one.connected);
  const names = connected.map(plainName);
  const devices = connected.map((one, n) => {
    const { page, doing, environment } = one;
    const adapter = environment?.adapter ?? null;
    const shared = names.filter((name) => name.toLowerCase() === names[n].toLowerCase());
    return {
      page,
      name: shared.length > 1 ? `${names[n]} (${page.slice(0, 6)}…)` : names[n],
      engine: environment?.engine ?? "",
      adapter: adapter ? adapterName(adapter) : "",
      software: Boolean(adapter?.fallback),
      usable: environment?.ok !== false,
      why: environment?.ok === false ? (environment.message ?? "no WebGPU") : "",
      doing: doing ?? "",
      here: page === here,
    };
  });
  return devices.sort((a, b) => Number(b.here) - Number(a.here));
}

/** @param {PageFacts} page */
function plainName({ page, label, environment }) {
  return label || environment?.engine || page.slice(0, 8);
}

/** @param {Partial<import("./device.js").AdapterFacts>} adapter */
function adapterName({ vendor, architecture, device, description }) {
  const words = [vendor, architecture, device].filter(Boolean);
  return words.join(" ") || description || "not named";
}
