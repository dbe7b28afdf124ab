// @ts-check

/** Which runs the page shows: the same words in the form, in the page's URL and for the server. */

/**
 * @typedef {object} Query
 * @property {string} kind     run, bench, golden, train, some with commas; "" = all
 * @property {string} case     a glob, or a word that may stand anywhere
 * @property {string} kernel   the same
 * @property {string} status   some with commas; "" = all
 * @property {string} adapter  as case
 * @property {string} since    24h, 7d or a date; "" = ever
 */

export const FILTERS = /** @type {(keyof Query)[]} */ ([
  "kind",
  "case",
  "kernel",
  "status",
  "adapter",
  "since",
]);

/**
 * @param {string} search `location.search`
 * @returns {{query: Query, run: string}} `run`: whose report is on show, "" = none
 */
export function readQuery(search) {
  const params = new URLSearchParams(search);
  const text = (/** @type {string} */ key) => (params.get(key) ?? "").trim();
  const query = /** @type {Query} */ (Object.fromEntries(FILTERS.map((key) => [key, text(key)])));
  return { query, run: text("run") };
}

/**
 * The page's own address for this; what is empty is left out.
 *
 * @param {Query} query
 * @param {string} run
 */
export function pageUrl(query, run) {
  const params = asked(query);
  if (run) params.set("run", run);
  return params.size ? `/history?${params}` : "/history";
}

/**
 * Where the server lists them.
 *
 * @param {Query} query
 * @param {number} limit
 * @param {number | null} before  the `next` of the page before
 */
export function listUrl(query, limit, before) {
  const params = asked(query);
  params.set("limit", String(limit));
  if (before !== null) params.set("before", String(before));
  return `/api/history?${params}`;
}

/** Whether anything is left out. @param {Query} query */
export const filtered = (query) => FILTERS.some((key) => query[key]);

/** @param {Query} query */
function asked(query) {
  return new URLSearchParams(FILTERS.filter((key) => query[key]).map((key) => [key, query[key]]));
}
