// @ts-check

/**
 * What the URL of the page asks for. Texts are as typed; the server judges them.
 *
 * @typedef {object} Options
 * @property {string} case    one case; it wins over `suite`
 * @property {string} suite
 * @property {string} kernel  "" = as the case says
 * @property {string} seed    "" = as the case says
 * @property {string} kappa   "" = the judge's own factor of the bounds
 * @property {boolean} run    start at once
 * @property {string} without features, with commas, that kernels must do without
 * @property {string} page    the id under which a launcher expects this page
 */

/** @typedef {Pick<Options, "case" | "suite" | "kernel" | "seed">} Choice  what the form says */

/**
 * @param {string} search `location.search`
 * @returns {Options}
 */
export function readOptions(search) {
  const params = new URLSearchParams(search);
  const text = (/** @type {string} */ key) => (params.get(key) ?? "").trim();
  const one = text("case");
  return {
    case: one,
    suite: one ? "" : text("suite"),
    kernel: text("kernel"),
    seed: text("seed"),
    kappa: text("kappa"),
    run: !["", "0"].includes(text("run")),
    without: text("without"),
    page: text("page"),
  };
}

/**
 * What was run, in the server's words: one case's id holds kernel and seed; a suite's name does
 * not.
 *
 * @param {Choice} asked
 * @param {string[]} cases  of the answer
 * @returns {Choice}
 */
export function asRun({ case: id, suite, kernel, seed }, cases) {
  if (id) return { case: cases[0], suite: "", kernel: "", seed: "" };
  return { case: "", suite, kernel, seed };
}

/**
 * @param {Choice} a
 * @param {Choice} b
 */
export function sameChoice(a, b) {
  const keys = /** @type {const} */ (["case", "suite", "kernel", "seed"]);
  return keys.every((key) => a[key] === b[key]);
}

/**
 * The query that makes the page run the same again; what is empty is left out.
 *
 * @param {Options} options
 */
export function writeOptions(options) {
  const parts = [
    ["case", options.case],
    ["suite", options.case ? "" : options.suite],
    ["kernel", options.kernel],
    ["seed", options.seed],
    ["kappa", options.kappa],
    ["run", options.run ? "1" : ""],
    ["without", options.without],
    ["page", options.page],
  ];
  const query = parts
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}=${readable(value)}`)
    .join("&");
  return query ? `?${query}` : "";
}

/**
 * Percent-encodes, but keeps what a case id is made of: a URL that shows
 * `case=forward:T=16,H=4,D=8` can be read, compared and typed.
 *
 * @param {string} value
 */
function readable(value) {
  return encodeURIComponent(value).replace(/%(3A|2C|3D)/g, decodeURIComponent);
}
