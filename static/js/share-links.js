// @ts-check
import { writeOptions } from "./url-options.js";

/** How a run is told to somebody else: a URL, a command, a test, each a line to copy. */

/**
 * @typedef {object} Shared a run, as far as it can be told in a line
 * @property {string} case    with kernel and seed, where they are not the defaults
 * @property {number} kappa
 * @property {readonly string[]} without  features withheld
 * @property {readonly string[]} edited   shader files whose text was not the one on disk
 * @property {string} own     the name of a kernel that is not ours; "" = one of ours
 */

/** @typedef {{name: string, text: string}} ShareLine */

/** The judge's own factor of the bounds. */
const KAPPA = 4;

/**
 * @param {Shared} shared
 * @param {string} origin  of the server, "http://127.0.0.1:8000"
 * @returns {{lines: ShareLine[], caveat: string}} caveat: what the lines do not hold; "" = all is said
 */
export function shareLinks({ case: id, kappa, without, edited, own }, origin) {
  const other = kappa === KAPPA ? "" : String(kappa);
  const query = writeOptions({
    case: id,
    suite: "",
    kernel: "",
    seed: "",
    kappa: other,
    run: true,
    without: without.join(","),
    page: "",
  });
  const word = (/** @type {string} */ name, /** @type {string} */ value) =>
    ` ${name} ${/^[\w.-]+$/.test(value) ? value : quoted(value)}`;
  const command = other && word("--kappa", other);
  const test = other && word("--fa2-kappa", other);
  const withheld = (/** @type {string} */ name) => without.map((one) => word(name, one)).join("");
  return {
    lines: [
      { name: "URL", text: `${origin}/webgpu-test${query}` },
      { name: "Command", text: `fa2 run ${quoted(id)}${command}${withheld("--without")}` },
      {
        name: "pytest",
        text: `pytest --pyargs server.pytest_cases --fa2-case ${quoted(id)}${test}${withheld("--fa2-without")}`,
      },
    ],
    caveat: own
      ? `These lines do not hold the kernel ${own}; the repro zip does.`
      : edited.length
        ? `These lines do not hold the edited text of ${edited.join(", ")}; the repro zip does.`
        : "",
  };
}

/**
 * A word for a POSIX shell. Case ids hold no quotes, but a URL may bring anything here.
 *
 * @param {string} text
 */
export function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
