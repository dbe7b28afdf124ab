// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { storeInputs } from "../../static/js/layout.js";

const sizes = { B: 2, H: 4, Hkv: 2, Tq: 3, Tk: 3, D: 2 };

/**
 * A tensor whose element says where it is: b, t, h, d as decimal digits after its own number.
 *
 * @param {number} tensor
 * @param {number} T
 * @param {number} H
 */
function coded(tensor, T, H) {
  const { B, D } = sizes;
  const data = new Float32Array(B * T * H * D);
  for (let n = 0; n < data.length; n++) {
    const d = n % D;
    const h = Math.floor(n / D) % H;
    const t = Math.floor(n / (D * H)) % T;
    const b = Math.floor(n / (D * H * T));
    data[n] = tensor * 10000 + b * 1000 + t * 100 + h * 10 + d;
  }
  return data;
}

const inputs = { q: coded(1, 3, 4), k: coded(2, 3, 2), v: coded(3, 3, 2), do: coded(4, 3, 4) };

test("bthd stores every tensor as it is, in a buffer of its own", () => {
  const stored = storeInputs({ ...sizes, layout: "bthd" }, inputs);
  assert.deepEqual(
    stored.map(({ names }) => names),
    [["q"], ["k"], ["v"], ["do"]],
  );
  stored.forEach(({ names, data }) => {
    assert.equal(data, inputs[/** @type {"q"} */ (names[0])]);
  });
});

test("bhtd brings each head's rows together, with as many heads and rows as the tensor has", () => {
  const unequal = { ...sizes, Tk: 5, layout: "bhtd" };
  const bias = new Float32Array(15).map((_, n) => n);
  const own = { ...inputs, k: coded(2, 5, 2), v: coded(3, 5, 2), bias };
  for (const { names, data } of storeInputs(unequal, own)) {
    const [name] = names;
    if (name === "bias") {
      assert.equal(data, bias);
      continue;
    }
    const tensor = ["", "q", "k", "v", "do"].indexOf(name);
    const [T, H] = tensor === 2 || tensor === 3 ? [5, 2] : [3, 4];
    const at = (/** @type {number[]} */ [b, h, t, d]) => data[((b * H + h) * T + t) * 2 + d];
    for (const [b, h, t, d] of [
      [0, 0, 0, 0],
      [1, H - 1, T - 1, 1],
      [0, 1, 2, 0],
      [1, 0, 1, 1],
    ]) {
      assert.equal(at([b, h, t, d]), tensor * 10000 + b * 1000 + t * 100 + h * 10 + d, name);
    }
  }
});

test("packed puts q, k and v side by side in each row of one buffer, and leaves dO apart", () => {
  const [first, second, ...rest] = storeInputs({ ...sizes, layout: "packed" }, inputs);
  assert.deepEqual(first.names, ["q", "k", "v"]);
  assert.deepEqual(second.names, ["do"]);
  assert.equal(rest.length, 0);
  const width = (4 + 2 + 2) * 2;
  assert.equal(first.data.length, 2 * 3 * width);
  const row = [...first.data.subarray(4 * width, 5 * width)]; // b = 1, t = 1
  const expected = [
    ...[0, 1, 2, 3].flatMap((h) => [11100 + 10 * h, 11101 + 10 * h]),
    ...[0, 1].flatMap((h) => [21100 + 10 * h, 21101 + 10 * h]),
    ...[0, 1].flatMap((h) => [31100 + 10 * h, 31101 + 10 * h]),
  ];
  assert.deepEqual(row, expected);
});

test("f16 bits stay 16 bits wide in every layout", () => {
  const half = (/** @type {Float32Array} */ { length }) => new Uint16Array(length);
  const bits = { q: half(inputs.q), k: half(inputs.k), v: half(inputs.v) };
  for (const layout of ["bthd", "bhtd", "packed"]) {
    for (const { data } of storeInputs({ ...sizes, layout }, bits)) {
      assert.ok(data instanceof Uint16Array, layout);
    }
  }
});
