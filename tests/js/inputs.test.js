// static/js/inputs.js against the committed digests, which tests/unit/test_inputs.py checks too.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { toF16Bits } from "../../static/js/f16.js";
import { inputDigest, makeInputs } from "../../static/js/inputs.js";

const golden = JSON.parse(
  readFileSync(new URL("../data/inputs-golden.json", import.meta.url), "utf8"),
);

test("the golden file holds the cases that it should", () => {
  assert.ok(golden.length >= 36);
});

for (const { case: id, spec, sha256, tensors } of golden) {
  test(`${id} has the bits that NumPy makes`, async () => {
    const inputs = makeInputs(spec);
    assert.deepEqual(Object.keys(inputs), Object.keys(tensors));
    for (const [name, digest] of Object.entries(tensors)) {
      const alone = /** @type {any} */ ({ [name]: inputs[name] });
      assert.equal(await inputDigest(alone), digest, name);
    }
    assert.equal(await inputDigest(inputs), sha256);
  });
}

const SPEC = golden[0].spec;

test("an unknown family is refused by name", () => {
  assert.throws(
    () => makeInputs({ ...SPEC, dist: "gaussian" }),
    /dist=gaussian .* normal, uniform/,
  );
});

test("the digest depends on every byte and on the order of the tensors", async () => {
  const inputs = makeInputs(SPEC);
  const before = await inputDigest(inputs);
  assert.notEqual(await inputDigest({ ...inputs, k: inputs.v, v: inputs.k }), before);
  inputs.v[inputs.v.length - 1] += 1;
  assert.notEqual(await inputDigest(inputs), before);
});

test("the digest reads a view, not the buffer behind it", async () => {
  const { q, k, v } = makeInputs(SPEC);
  const wide = new Float32Array(k.length + 2);
  wide.set(k, 1);
  assert.equal(
    await inputDigest({ q, k: wide.subarray(1, k.length + 1), v }),
    await inputDigest({ q, k, v }),
  );
});

test("float16 rounds to nearest, ties to even, in every range", () => {
  const cases = [
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [1 + 2 ** -11, 0x3c00], // a tie, down to even
    [1 + 3 * 2 ** -11, 0x3c02], // a tie, up to even
    [1 + 2 ** -11 + 2 ** -20, 0x3c01],
    [2 - 2 ** -11, 0x4000], // the carry reaches the exponent
    [65504, 0x7bff],
    [65519.99609375, 0x7bff],
    [65520, 0x7c00],
    [-1e6, 0xfc00],
    [Infinity, 0x7c00],
    [NaN, 0x7e00],
    [2 ** -14, 0x0400],
    [2 ** -14 - 2 ** -26, 0x0400], // a subnormal that rounds up to the first normal
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000], // a tie with zero
    [2 ** -25 + 2 ** -40, 0x0001],
    [3 * 2 ** -25, 0x0002],
    [-(2 ** -130), 0x8000],
  ];
  for (const [value, bits] of cases) {
    assert.equal(toF16Bits(Float32Array.of(value))[0], bits, `${value}`);
  }
});
