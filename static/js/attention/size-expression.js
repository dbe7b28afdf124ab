// @ts-check
/**
 * Sizes as the registry and WGSL constants write them: `16 * TY * (max(D_CHUNK, BC) + 1u)`.
 *
 * Numbers, names, + - * / %, parentheses, max(), min(), ceil_div(), sqrt(); `/` rounds towards
 * zero unless the value is to be real, as in WGSL, where the type decides. The same grammar reads the
 * registry's formulas, a kernel's own array sizes (so that a test can hold one against the other)
 * and the manifests of kernels that are not ours.
 */

/** @type {Record<string, (...values: number[]) => number>} */
const FUNCTIONS = {
  max: Math.max,
  min: Math.min,
  ceil_div: (a, b) => Math.ceil(a / b),
  sqrt: Math.sqrt,
};

/**
 * Evaluates a size.
 * @param {string} text
 * @param {Readonly<Record<string, number>>} names values of the names that may occur
 * @returns {number} an integer, 0 and up
 * @throws {SyntaxError} unknown name or malformed text; the message holds the whole text
 */
export function evaluateSize(text, names) {
  const value = evaluate(text, names);
  if (!Number.isInteger(value) || value < 0) {
    throw new SyntaxError(`size "${text}": ${value} is not a size`);
  }
  return value;
}

/** The names that an expression mentions. @param {string} text */
export const namesIn = (text) =>
  (text.match(/[A-Za-z_]\w*|\d[\w.]*/g) ?? []).filter(
    (token) => !/^\d/.test(token) && !Object.hasOwn(FUNCTIONS, token),
  );

/**
 * Evaluates an expression.
 * @param {string} text
 * @param {Readonly<Record<string, number>>} names values of the names that may occur
 * @param {boolean} [real] `/` does not round
 * @returns {number}
 * @throws {SyntaxError} unknown name or malformed text; the message holds the whole text
 */
export function evaluate(text, names, real = false) {
  const tokens =
    text.match(/[A-Za-z_]\w*|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[uif]?|[-+*/%(),]|\S/g) ?? [];
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
      else if (operator === "%") value %= right;
      else value = real ? value / right : Math.trunc(value / right);
    }
    return value;
  };
  /** @returns {number} */
  const atom = () => {
    const token = tokens[next++];
    if (token === undefined) return fail("ends too early");
    if (/^\d/.test(token)) return Number.parseFloat(token);
    if (token === "-") return -atom();
    if (token === "(") {
      const value = sum();
      expect(")");
      return value;
    }
    if (tokens[next] === "(" && Object.hasOwn(FUNCTIONS, token)) {
      const call = FUNCTIONS[token];
      expect("(");
      const values = [sum()];
      while (values.length < (token === "sqrt" ? 1 : 2)) {
        expect(",");
        values.push(sum());
      }
      expect(")");
      return call(...values);
    }
    if (!Object.hasOwn(names, token)) return fail(`unknown name "${token}"`);
    return names[token];
  };

  const value = sum();
  if (next < tokens.length) fail(`"${tokens[next]}" is left over`);
  return value;
}

/**
 * The constants that a size may name.
 * @param {readonly Readonly<Record<string, unknown>>[]} constants
 * @returns {Record<string, number>}
 */
export const numbersOf = (...constants) =>
  Object.fromEntries(
    constants
      .flatMap((some) => Object.entries(some))
      .flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  );
