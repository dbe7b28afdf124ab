// @ts-check
/**
 * Sizes as the registry and WGSL constants write them: `16 * TY * (max(D_CHUNK, BC) + 1u)`.
 *
 * Non-negative integers, names, + - * / %, parentheses, max(), min(), ceil_div(); `/` rounds down,
 * as in WGSL. The same grammar reads the registry's formulas and a kernel's own array sizes, so
 * that a test can hold one against the other.
 */

/** @type {Record<string, (a: number, b: number) => number>} */
const FUNCTIONS = {
  max: Math.max,
  min: Math.min,
  ceil_div: (a, b) => Math.ceil(a / b),
};

/**
 * Evaluates a size.
 * @param {string} text
 * @param {Readonly<Record<string, number>>} names values of the names that may occur
 * @returns {number} an integer, 0 and up
 * @throws {SyntaxError} unknown name or malformed text; the message holds the whole text
 */
export function evaluateSize(text, names) {
  const tokens = text.match(/[A-Za-z_]\w*|\d+u?|[-+*/%(),]|\S/g) ?? [];
  let next = 0;

  /** @param {string} why @returns {never} */
  const fail = (why) => {
    throw new SyntaxError(`size "${text}": ${why}`);
  };
  /** @param {string} token */
  const expect = (token) => {
    if (tokens[next++] !== token) fail(`expected "${token}" before token ${next}`);
  };

  /** @returns {number} */
  const sum = () => {
    let value = product();
    while (tokens[next] === "+" || tokens[next] === "-") {
      value = tokens[next++] === "+" ? value + product() : value - product();
    }
    return value;
  };
  /** @returns {number} */
  const product = () => {
    let value = atom();
    while (["*", "/", "%"].includes(tokens[next])) {
      const operator = tokens[next++];
      const right = atom();
      if (operator === "*") value *= right;
      else if (right === 0) fail("division by zero");
      else value = operator === "/" ? Math.floor(value / right) : value % right;
    }
    return value;
  };
  /** @returns {number} */
  const atom = () => {
    const token = tokens[next++];
    if (token === undefined) return fail("ends too early");
    if (/^\d/.test(token)) return Number.parseInt(token, 10);
    if (token === "(") {
      const value = sum();
      expect(")");
      return value;
    }
    if (tokens[next] === "(" && Object.hasOwn(FUNCTIONS, token)) {
      expect("(");
      const a = sum();
      expect(",");
      const b = sum();
      expect(")");
      return FUNCTIONS[token](a, b);
    }
    if (!Object.hasOwn(names, token)) return fail(`unknown name "${token}"`);
    return names[token];
  };

  const value = sum();
  if (next < tokens.length) fail(`"${tokens[next]}" is left over`);
  if (!Number.isInteger(value) || value < 0) fail(`${value} is not a size`);
  return value;
}

/**
 * The constants that a size may name.
 * @param {readonly Readonly<Record<string, number | boolean>>[]} constants
 * @returns {Record<string, number>}
 */
export const numbersOf = (...constants) =>
  Object.fromEntries(
    constants
      .flatMap((some) => Object.entries(some))
      .flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  );
