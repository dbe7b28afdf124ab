// @ts-check
/**
 * What was judged of which text: a case before and after an edit, and whether what is on show still
 * tells of the text that one sees.
 *
 * @typedef {import("./checks.js").Report} Report
 *
 * @typedef {object} Texts what the shader files held at some moment
 * @property {Readonly<Record<string, string>>} edited  by path
 * @property {Readonly<Record<string, number>>} saves   how often each was saved on disk
 */

/** Reports that are kept; the case that was judged least recently goes first. */
const MOST = 256;

export class KernelResults {
  /** @type {Map<string, {before: Report | null, now: Report}>} by case */
  #judged = new Map();
  /** @type {Texts | null} of the list on show */
  #of = null;

  /**
   * A list of runs was started with these texts.
   *
   * @param {Texts | null} texts null: with others than those of the files
   */
  started(texts) {
    this.#of = texts;
  }

  /**
   * A run of the list was judged. One that computed nothing (it does not compile, it was refused)
   * leaves what was known of the case.
   *
   * @param {Report} report
   */
  judged(report) {
    if (!["pass", "fail", "vacuous"].includes(report.status)) return;
    const known = this.#judged.get(report.case);
    const same = known?.now.shader_sha256 === report.shader_sha256;
    const before = (same ? known?.before : known?.now) ?? null;
    this.#judged.delete(report.case);
    this.#judged.set(report.case, { before, now: report });
    const [oldest] = this.#judged.keys();
    if (this.#judged.size > MOST) this.#judged.delete(oldest);
  }

  /** Whether a case was judged on this page. @param {string} id */
  has(id) {
    return this.#judged.has(id);
  }

  /** The last two texts of a case, judged; null before there are two. @param {string} id */
  change(id) {
    const known = this.#judged.get(id);
    return known?.before ? { before: known.before, now: known.now } : null;
  }

  /**
   * Whether some of these files are not what they were when the list on show was started.
   *
   * @param {readonly string[]} files that the case on show is made of
   * @param {Texts} now
   */
  stale(files, now) {
    const then = this.#of;
    if (!then) return false;
    return files.some(
      (path) =>
        then.edited[path] !== now.edited[path] ||
        // A file that is edited here runs as edited, whatever lies on disk.
        (now.edited[path] === undefined && (then.saves[path] ?? 0) !== (now.saves[path] ?? 0)),
    );
  }
}
