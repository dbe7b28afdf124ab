// Loops that the composer writes out.
import assert from "node:assert/strict";
import test from "node:test";
import { compose } from "../../static/js/attention/compose.js";
import { ComposeError } from "../../static/js/attention/errors.js";

const PARAMS = "struct Params { n: u32 }";
const MEMBERS = /** @type {const} */ ([["n", "u32"]]);

/** @param {string} text @param {Record<string, number>} [constants] */
const composed = (text, constants = {}) =>
  compose("k.wgsl", constants, { "k.wgsl": `${PARAMS}\n${text}` }, { params: MEMBERS }).text;

/** What a loop becomes, in one line. @param {string} text @param {Record<string, number>} [constants] */
const unrolled = (text, constants) =>
  composed(text, constants).split("\n").slice(1).join(" ").replace(/\s+/g, " ").trim();

test("a marked loop becomes a block for each value, and the lines stay where they are", () => {
  const text = composed("for (var n = 0u; n < 3u; n++) { // @unroll\n  a[n] = n; // why\n}\nlast;");
  const lines = text.split("\n");
  assert.deepEqual(lines.slice(1, 3), ["{ const n = 0u;", "  a[n] = n; // why"]);
  assert.equal(lines[3], "} { const n = 1u; a[n] = n; } { const n = 2u; a[n] = n; }");
  assert.equal(lines[4], "last;");
});

test("bounds are sizes over the constants; loops nest and follow one another", () => {
  const loop = (/** @type {string} */ n, /** @type {string} */ most, /** @type {string} */ body) =>
    `for (var ${n} = 0u; ${n} < ${most}; ${n}++) { // @unroll\n${body}\n}\n`;
  assert.equal(
    unrolled(loop("r", "ROWS", loop("c", "2u * ROWS - 2u", "x(r, c);")), { ROWS: 2 }),
    "{ const r = 0u; { const c = 0u; x(r, c); } { const c = 1u; x(r, c); } }" +
      " { const r = 1u; { const c = 0u; x(r, c); } { const c = 1u; x(r, c); } }" +
      " const ROWS: u32 = 2u;",
  );
  assert.equal(
    unrolled(loop("a", "1u", "x;") + loop("b", "2u", "y;")),
    "{ const a = 0u; x; } { const b = 0u; y; } { const b = 1u; y; }",
  );
});

test("other loops, and the mark in other comments, are left alone", () => {
  const texts = [
    "for (var n = 0u; n < 3u; n++) {\n  x;\n}",
    "// about @unroll\nx;",
    "// for (;;) { // @unroll",
  ];
  for (const text of texts) assert.equal(composed(text), `${PARAMS}\n${text}`);
});

test("what cannot be written out is refused at its line", () => {
  const body = "\n  x;\n}";
  const refused = [
    ["for (var n = 1u; n < 3u; n++) { // @unroll", body, /must read for \(var n = 0u/],
    ["for (var n = 0u; m < 3u; n++) { // @unroll", body, /must read/],
    ["for (var n = 0u; n < 3u; n += 2u) { // @unroll", body, /must read/],
    ["for (var n = 0u; n < ROWS; n++) { // @unroll", body, /unknown name "ROWS"/],
    ["for (var n = 0u; n < 0u; n++) { // @unroll", body, /0u is 0, must be 1 to 64/],
    ["for (var n = 0u; n < 65u; n++) { // @unroll", body, /65u is 65, must be 1 to 64/],
    ["for (var n = 0u; n < 2u; n++) { // @unroll", "\n  if (x) { continue; }\n}", /continue/],
    ["for (var n = 0u; n < 2u; n++) { // @unroll", "\n  x;", /no closing brace/],
  ];
  for (const [head, rest, text] of refused) {
    for (const [before, line] of /** @type {const} */ ([
      ["", 3],
      ["for (var m = 0u; m < 2u; m++) { // @unroll\n", 4],
    ])) {
      const after = before ? "\n}" : "";
      assert.throws(
        () => composed(`\n${before}${head}${rest}${after}`),
        (error) => {
          assert.ok(error instanceof ComposeError, String(error));
          if (!/no closing|continue/.test(String(text))) assert.equal(error.line, line);
          assert.match(error.message, /** @type {RegExp} */ (text));
          return true;
        },
      );
    }
  }
});
