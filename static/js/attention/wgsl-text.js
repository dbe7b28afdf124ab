// @ts-check
/** What can be said of a WGSL text without parsing it. */

/**
 * Blanks comments out, character by character, so that positions stay. Block comments nest.
 * @param {string} text
 */
export function withoutComments(text) {
  if (!text.includes("/*")) return text.replace(/\/\/[^\n]*/g, (all) => " ".repeat(all.length));
  let out = "";
  let depth = 0;
  for (let n = 0; n < text.length; n++) {
    const two = text.slice(n, n + 2);
    if (depth === 0 && two === "//") {
      const end = text.indexOf("\n", n);
      const stop = end < 0 ? text.length : end;
      out += " ".repeat(stop - n);
      n = stop - 1;
    } else if (two === "/*" || (two === "*/" && depth > 0)) {
      depth += two === "/*" ? 1 : -1;
      out += "  ";
      n++;
    } else {
      out += depth === 0 || text[n] === "\n" ? text[n] : " ";
    }
  }
  return out;
}
