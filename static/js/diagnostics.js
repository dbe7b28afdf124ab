// @ts-check
/**
 * From what a compiler says of a file to places in the text that an editor holds.
 *
 * @typedef {import("./attention/index.js").Message} Message
 *
 * @typedef {object} Doc as much of an editor's text as is asked
 * @property {number} lines
 * @property {number} length
 * @property {(n: number) => {from: number, to: number, text: string}} line  n: 1-based
 */

/** What is marked where a compiler gives no length: a name, a number, or one character. */
const TOKEN = /^(?:@?[A-Za-z_]\w*|\d[\w.]*|\S)/u;

/**
 * The place of a message. It always lies in the text, whatever the compiler counted: the text may
 * have become shorter since, and copies of an unrolled loop stand beyond the end of a line.
 *
 * @param {Doc} doc
 * @param {Pick<Message, "line" | "column" | "length">} message
 * @returns {{from: number, to: number}} offsets in UTF-16 units; empty only where a line is
 */
export function rangeOf(doc, { line, column, length }) {
  const { from: start, to: end, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  if (line < 1 || column < 1) return { from: start, to: end };
  let from = Math.min(start + column - 1, end);
  // Never half of a character that takes two units.
  if (isLow(text.charCodeAt(from - start)) && from > start) from--;
  if (line > doc.lines || from === end) {
    // Behind the last character: that one is marked, or nothing could be seen.
    const last = Math.max(start, end - (isLow(text.charCodeAt(text.length - 1)) ? 2 : 1));
    return { from: last, to: end };
  }
  const own = TOKEN.exec(text.slice(from - start))?.[0].length ?? 1;
  let to = Math.min(from + (length || own), doc.length);
  if (to < end && isLow(text.charCodeAt(to - start))) to++;
  return { from, to };
}

/** The second half of a surrogate pair. @param {number} unit */
const isLow = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

/** @param {readonly Message[]} messages */
export const hasErrors = (messages) => messages.some(({ type }) => type === "error");

/**
 * In the order in which one reads them: errors first, then by place.
 *
 * @template {Message} M
 * @param {readonly M[]} messages
 * @returns {M[]}
 */
export function inOrder(messages) {
  const weight = { error: 0, warning: 1, info: 2 };
  return [...messages].sort(
    (a, b) =>
      weight[a.type] - weight[b.type] ||
      a.file.localeCompare(b.file) ||
      a.line - b.line ||
      a.column - b.column,
  );
}
