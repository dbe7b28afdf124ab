// The shaders of training against the tables that dispatch them, without a GPU.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { compose, withoutComments } from "../../static/js/attention/compose.js";
import { ShaderSources } from "../../static/js/attention/shader-sources.js";
import { constantsOf, fileOf, KERNELS } from "../../static/js/train/kernels.js";
import { TRAIN_PARAMS, TRAIN_PARAMS_BYTES } from "../../static/js/train/params.js";

const SHADERS = new URL("../../static/shaders/", import.meta.url);
const NAMES = /** @type {(keyof typeof KERNELS)[]} */ (Object.keys(KERNELS));
const given = new Proxy(/** @type {Record<string, string>} */ ({}), {
  getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
  get: (_, path) => readFileSync(new URL(String(path), SHADERS), "utf8"),
});
const sources = new ShaderSources(SHADERS, given);

/** @param {readonly string[]} flags @returns {string[][]} */
const subsets = (flags) =>
  Array.from({ length: 2 ** flags.length }, (_, bits) => flags.filter((_, n) => bits & (1 << n)));

for (const name of NAMES) {
  const { bindings, flags } = KERNELS[name];

  test(`${name} composes in every variant, with its constants and the packed params`, async () => {
    const texts = await sources.closure(fileOf(name));
    for (const set of subsets(flags)) {
      const { text } = compose(fileOf(name), constantsOf(name, set), texts, {
        params: TRAIN_PARAMS,
      });
      for (const flag of flags) {
        assert.match(text, new RegExp(`^const ${flag}: bool = ${set.includes(flag)};$`, "m"));
      }
    }
  });

  test(`${name} declares the bindings of the table in its order, and its entry point`, () => {
    const code = withoutComments(given[fileOf(name)]);
    const declared = [...code.matchAll(/@binding\((\d+)\) var<storage, (\w+)> (\w+):/g)].map(
      ([, number, access, variable]) => [Number(number), variable, access],
    );
    assert.deepEqual(
      declared,
      bindings.map(([variable, access], n) => [
        n + 1,
        variable,
        access === "read" ? "read" : "read_write",
      ]),
    );
    assert.match(code, new RegExp(`@compute[^{]*\\bfn ${name}\\(`));
  });

  test(`${name} has workgroups for every element, and none of them is spare`, () => {
    const constants = /** @type {Record<string, number>} */ (KERNELS[name].constants);
    const { TX = 0, TY = 0, ROWS = 0, COLUMNS = 0, LANES = 0, SEGMENT = 1 } = constants;
    for (const [rows, columns] of [
      [1, 1],
      [32, 32],
      [33, 31],
      [257, 1],
      [1, 257],
      [512, 192],
    ]) {
      const count = KERNELS[name].workgroups({ rows, columns });
      let needed = Math.ceil((Math.ceil(rows / SEGMENT) * columns) / LANES);
      if (TX) needed = Math.ceil(rows / (8 * TY)) * Math.ceil(columns / (8 * TX));
      if (ROWS) needed = Math.ceil(rows / ROWS);
      if (COLUMNS) needed = Math.ceil(columns / COLUMNS);
      assert.equal(count, needed, `${rows} x ${columns}`);
    }
  });
}

test("a flag that a kernel lacks is refused", () => {
  assert.throws(() => constantsOf("add", ["ACCUMULATE"]), /kernel add has no flag ACCUMULATE/);
});

test("the uniform's size is that of its members, rounded up to 16", () => {
  assert.equal(TRAIN_PARAMS_BYTES, 32);
  assert.equal(TRAIN_PARAMS.length, 6);
});
