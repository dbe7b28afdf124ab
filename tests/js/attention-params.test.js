import assert from "node:assert/strict";
import test from "node:test";
import {
  PARAMS,
  PARAMS_BYTES,
  packParams,
  paramsMismatch,
} from "../../static/js/attention/params.js";
import { evaluateSize } from "../../static/js/attention/size-expression.js";
import { SHADERS } from "./attention-files.js";

const MEMBERS = /** @type {const} */ ([
  ["count", "u32"],
  ["offset", "i32"],
  ["scale", "f32"],
]);

/** @param {Record<string, number>} values */
function packed(values, at = 0) {
  const view = new DataView(new ArrayBuffer(32));
  packParams(values, view, at, MEMBERS);
  return [...new Uint8Array(view.buffer)];
}

test("members are packed little-endian, four bytes each, in order", () => {
  const bytes = packed({ scale: -0.5, count: 0xfffffffe, offset: -2 }, 4);
  assert.deepEqual(bytes.slice(0, 4), [0, 0, 0, 0]);
  assert.deepEqual(bytes.slice(4, 16), [0xfe, 255, 255, 255, 0xfe, 255, 255, 255, 0, 0, 0, 0xbf]);
});

test("a member that is missing, unknown or out of range is refused by name", () => {
  const good = { count: 1, offset: 0, scale: 1 };
  packed(good);
  assert.throws(() => packed({ ...good, extra: 1 }), /no member "extra"/);
  assert.throws(() => packed({ count: 1, offset: 0 }), /params\.scale=undefined is not a f32/);
  for (const [name, value] of [
    ["count", -1],
    ["count", 2 ** 32],
    ["count", 1.5],
    ["offset", 2 ** 31],
    ["offset", -(2 ** 31) - 1],
    ["scale", Number.NaN],
    ["scale", Number.POSITIVE_INFINITY],
  ]) {
    assert.throws(
      () => packed({ ...good, [name]: value }),
      new RegExp(`params\\.${name}=`),
      `${value}`,
    );
  }
});

test("the shipped struct Params is what is packed, and a uniform's size", () => {
  assert.equal(paramsMismatch(SHADERS["common/params.wgsl"].replace(/\/\/.*/g, "")), null);
  assert.equal(PARAMS_BYTES % 16, 0);
  assert.ok(PARAMS_BYTES >= 4 * PARAMS.length && PARAMS_BYTES < 4 * PARAMS.length + 16);
  assert.equal(new Set(PARAMS.map(([name]) => name)).size, PARAMS.length);
});

test("sizes follow the rules of arithmetic and round towards zero", () => {
  const names = { TX: 8, TY: 4, D: 40 };
  for (const [text, value] of [
    ["2 + 3 * TX", 26],
    ["(2 + 3u) * TX - TY", 36],
    ["D / 16 * 16 + D % 16", 40],
    ["ceil_div(D, ceil_div(D, 16))", 14],
    ["16 * TY * (max(D, TX) + 1)", 2624],
    ["min(TX, TY)", 4],
    ["20 - 2 - 3", 15],
    ["8 + (0 - 3) / 2", 7],
  ]) {
    assert.equal(evaluateSize(String(text), names), value, String(text));
  }
});

test("a malformed size is refused with its text", () => {
  for (const text of [
    "",
    "2 +",
    "(2",
    "2 3",
    "NO",
    "max(2)",
    "max(2, 3",
    "2 - 3",
    "2 / 0",
    "2 & 3",
    "toString",
  ]) {
    assert.throws(() => evaluateSize(text, {}), SyntaxError, text);
  }
});
