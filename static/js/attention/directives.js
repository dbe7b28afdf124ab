// @ts-check
/**
 * The words of the composer, `@use`, `@unroll`, `@registers` and `@trace`, where they are nothing but
 * comments: misspelt, or in another form. Such a kernel would compile, and do without what was asked.
 *
 * A word stands first in its comment, and is not half of a longer one (`@trade-off`). Loops that are
 * commented out, and prose about words, are let be.
 */
import { HOOK } from "./instrument.js";
import { REGISTERS } from "./registers.js";
import { UNROLL } from "./unroll.js";

const USE = /^[ \t]*\/\/[ \t]*@use\b/gm;

/** The texts that each word is taken from, and how it has to stand. */
const FORMS = Object.freeze({
  use: { taken: USE, form: "must stand on a line of its own, // @use PATH" },
  unroll: {
    taken: UNROLL,
    form: "must end the line of a loop, for (var n = 0u; n < BOUND; n++) { // @unroll",
  },
  registers: {
    taken: REGISTERS,
    form: "must end the line of an array, alias NAME = array<TYPE, SIZE>;  // @registers",
  },
  trace: {
    taken: HOOK,
    form: "must stand on a line of its own, // @trace CODE, with these spaces",
  },
});

const WORDS = /** @type {(keyof typeof FORMS)[]} */ (Object.keys(FORMS));

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/**
 * The first word that is not taken for one.
 * @param {string} text WGSL, as it lies on disk
 * @returns {{message: string, index: number} | null} index of its `@`
 */
export function strayDirective(text) {
  /** @type {Set<number> | null} */
  let taken = null;
  for (const { 0: comment, index } of text.matchAll(COMMENT)) {
    const [head, word] = /^[/*]+[ \t]*@(\w+)(?![\w-])/.exec(comment) ?? ["", ""];
    const meant = WORDS.find((one) => resembles(word, one));
    if (meant === undefined) continue;
    const at = index + head.length - word.length - 1;
    taken ??= takenIn(text);
    if (taken.has(at)) continue;
    const slip = word === meant ? "" : `no such word; @${meant} `;
    return { message: `@${word}: ${slip}${FORMS[meant].form}`, index: at };
  }
  return null;
}

/** Where the words are that the composer takes. @param {string} text */
const takenIn = (text) =>
  new Set(
    WORDS.flatMap((word) =>
      [...text.matchAll(new RegExp(FORMS[word].taken, "gm"))].map(
        (match) => match.index + match[0].lastIndexOf(`@${word}`),
      ),
    ),
  );

/**
 * Whether a word is another one, or that with a slip: other capitals, an s too many, a letter or two
 * of a long one missing, doubled or mistaken, but not the first.
 * @param {string} word @param {string} meant
 */
function resembles(word, meant) {
  const lower = word.toLowerCase();
  if (lower === meant || lower === `${meant}s`) return true;
  return (
    meant.length > 4 &&
    lower[0] === meant[0] &&
    distance(lower, meant) <= (meant.length > 5 ? 2 : 1)
  );
}

/** Letters to insert, drop or change (Levenshtein). @param {string} a @param {string} b */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let n = 1; n <= a.length; n++) {
    const next = [n];
    for (let m = 1; m <= b.length; m++) {
      const changed = row[m - 1] + Number(a[n - 1] !== b[m - 1]);
      next.push(Math.min(changed, row[m] + 1, next[m - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
