// @ts-check
/**
 * The shader files that were opened on this page: each as it lies on disk, and as it was edited
 * here. Texts have "\n" between their lines, as the editor has; a file that has "\r\n" gets them
 * back when it is handed out.
 *
 * @typedef {object} Buffer
 * @property {string} disk
 * @property {string} text
 * @property {string | null} newer  what lies on disk since, while edits made here stand against it
 * @property {boolean} crlf
 */

/** @param {string} text */
const unix = (text) => text.replace(/\r\n?/g, "\n");

export class EditBuffers {
  /** @type {Map<string, Buffer>} */
  #all = new Map();

  /** @param {string} path */
  has(path) {
    return this.#all.has(path);
  }

  /**
   * A file that was read; one that is open already keeps its edits.
   *
   * @param {string} path
   * @param {string} disk
   */
  open(path, disk) {
    if (this.#all.has(path)) return;
    const text = unix(disk);
    this.#all.set(path, { disk: text, text, newer: null, crlf: /\r\n/.test(disk) });
  }

  /** The text to be edited. @param {string} path */
  text(path) {
    return this.#of(path).text;
  }

  /** The text on disk, whether it was taken or not. @param {string} path */
  disk(path) {
    const { newer, disk } = this.#of(path);
    return newer ?? disk;
  }

  /**
   * @param {string} path
   * @param {string} text
   */
  edit(path, text) {
    this.#of(path).text = unix(text);
  }

  /** @param {string} path */
  isEdited(path) {
    const buffer = this.#all.get(path);
    return buffer !== undefined && buffer.text !== buffer.disk;
  }

  /** Whether edits made here stand against a file that was saved since. @param {string} path */
  isContested(path) {
    return (this.#all.get(path)?.newer ?? null) !== null;
  }

  /** The edited texts by path: what a run takes as `shaders`. */
  edited() {
    /** @type {Record<string, string>} */
    const texts = {};
    for (const [path, { text, crlf }] of [...this.#all].sort()) {
      if (this.isEdited(path)) texts[path] = crlf ? text.replaceAll("\n", "\r\n") : text;
    }
    return texts;
  }

  /** Back to what lies on disk. @param {string} path @returns {string} that text */
  revert(path) {
    const buffer = this.#of(path);
    buffer.disk = buffer.newer ?? buffer.disk;
    buffer.newer = null;
    buffer.text = buffer.disk;
    return buffer.text;
  }

  /**
   * A file was saved: a text that nobody has edited here follows it.
   *
   * @param {string} path
   * @param {string} disk
   * @returns {"unopened" | "same" | "taken" | "contested"}
   */
  saved(path, disk) {
    const buffer = this.#all.get(path);
    if (!buffer) return "unopened";
    const text = unix(disk);
    buffer.crlf = /\r\n/.test(disk);
    if (text === buffer.disk) {
      buffer.newer = null;
      return "same";
    }
    if (buffer.text !== buffer.disk && buffer.text !== text) {
      buffer.newer = text;
      return "contested";
    }
    Object.assign(buffer, { disk: text, text, newer: null });
    return "taken";
  }

  /** The edits made here stay, as edits of what lies on disk now. @param {string} path */
  keep(path) {
    const buffer = this.#of(path);
    buffer.disk = buffer.newer ?? buffer.disk;
    buffer.newer = null;
  }

  /** @param {string} path */
  #of(path) {
    const buffer = this.#all.get(path);
    if (!buffer) throw new Error(`${path} was not opened`);
    return buffer;
  }
}

/**
 * How many lines a text has gained and lost.
 *
 * @param {string} before
 * @param {string} after
 * @returns {{first: number, added: number, removed: number}} first: 1-based line of `after`
 */
export function lineChange(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const common = commonLines(left, right);
  return { first: start + 1, added: right.length - common, removed: left.length - common };
}

/**
 * The length of the longest sequence of lines that both hold in this order, a row of the usual
 * table at a time: kernels have some hundred lines.
 *
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 */
function commonLines(a, b) {
  let row = new Uint32Array(b.length + 1);
  for (const line of a) {
    const next = new Uint32Array(b.length + 1);
    for (let n = 0; n < b.length; n++) {
      next[n + 1] = line === b[n] ? row[n] + 1 : Math.max(row[n + 1], next[n]);
    }
    row = next;
  }
  return row[b.length];
}
