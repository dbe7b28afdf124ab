// The pure parts of static/js/train: sizes, first weights, batches, memory, the optimizer's numbers.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { attentionSpec, configOf, flopsPerStep, PRESETS } from "../../static/js/train/config.js";
import { batch, offsets } from "../../static/js/train/data.js";
import { checkLimits, sizeBytesOf, tensorSizes } from "../../static/js/train/memory.js";
import { Schedule } from "../../static/js/train/optimizer.js";
import { firstValues, groupsOf, parameters, sizeOf } from "../../static/js/train/parameters.js";

const golden = JSON.parse(
  readFileSync(new URL("../data/train-golden.json", import.meta.url), "utf8"),
);
const text = new Uint8Array(
  readFileSync(new URL("../../static/js/train/corpus.txt", import.meta.url)),
);
const TINY = PRESETS.tiny;

test("every preset is a config that passes its own check", () => {
  assert.equal(Object.keys(PRESETS).length, 9);
  for (const name of Object.keys(PRESETS)) assert.equal(configOf(PRESETS[name]), configOf(name));
});

test("a preset or a size that makes no model is refused with what is allowed", () => {
  assert.throws(() => configOf("giga"), /preset=giga.*tiny, small.*behemoth/);
  assert.throws(() => configOf("toString"), /preset=toString: unknown/);
  assert.throws(() => configOf({ ...TINY, C: 49 }), /C=49 must be H·D, and H=3, D=16 make 48/);
  assert.throws(() => configOf({ ...TINY, T: 0 }), /T=0: give a whole number/);
  assert.throws(() => configOf({ ...TINY, B: 1.5 }), /B=1.5/);
  assert.throws(() => configOf({ ...TINY, rate: Number.NaN }), /rate=NaN/);
});

for (const { config, sizes, seed, parameters: list, ...digests } of golden) {
  test(`${config} has the parameters, first weights and batches that NumPy makes`, () => {
    const own = parameters(sizes);
    assert.deepEqual(
      own.map(({ name, shape }) => [name, ...shape]),
      list,
    );
    const weights = createHash("sha256");
    for (const parameter of own) weights.update(firstValues(parameter, sizes, seed));
    assert.equal(weights.digest("hex"), digests.weights_sha256);

    const batches = createHash("sha256");
    for (const step of [0, 1, 2]) {
      const { tokens, targets } = batch(text, sizes, seed, step);
      batches.update(Uint8Array.from(tokens)).update(Uint8Array.from(targets));
    }
    assert.equal(batches.digest("hex"), digests.batches_sha256);
  });
}

test("a text shorter than a context is refused", () => {
  assert.throws(() => offsets(TINY, "0", 0, 32), /T=32 needs a text of at least 33 bytes, not 32/);
  assert.deepEqual(new Set(offsets(TINY, "0", 0, 33)), new Set([0]));
});

test("groups hold every parameter once, apart from each other, matrices in front", () => {
  const config = { ...TINY, layers: 3, C: 15, H: 3, D: 5, T: 7 };
  const list = parameters(config);
  const groups = groupsOf(list);
  assert.deepEqual(
    groups.map(({ name }) => name),
    ["embedding", "h0", "h1", "h2", "final"],
  );
  assert.equal(new Set(groups.flatMap(({ places }) => [...places.keys()])).size, list.length);
  for (const { places, size, decaying } of groups) {
    let end = 0;
    for (const [name, place] of places) {
      const { shape } = /** @type {import("../../static/js/train/parameters.js").Parameter} */ (
        list.find((parameter) => parameter.name === name)
      );
      assert.equal(place.offset % 64, 0, "a binding starts at a multiple of 256 bytes");
      assert.ok(place.offset >= end, `${name} overlaps its neighbour`);
      assert.equal(place.size, sizeOf(shape));
      end = place.offset + place.size;
      assert.equal(end <= decaying, shape.length === 2, `${name} decays exactly if a matrix`);
      assert.equal(place.offset >= decaying, shape.length === 1);
    }
    assert.ok(size >= end);
  }
});

test("the largest preset fits a device with default limits, and a huge batch is refused", () => {
  const limits = { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 };
  checkLimits(PRESETS.behemoth, limits);
  const bytes = 4 * 4 * 1280 * 512 * 64;
  assert.throws(
    () => checkLimits({ ...PRESETS.behemoth, B: 64 }, limits),
    new RegExp(`buffer dg takes ${bytes} bytes, this device allows ${2 ** 27}`),
  );
  checkLimits(TINY, { maxBufferSize: 524288, maxStorageBufferBindingSize: 524288 });
  for (const [whole, bound] of [
    [524287, 524288],
    [524288, 524287],
  ]) {
    const tight = { maxBufferSize: whole, maxStorageBufferBindingSize: bound };
    assert.throws(() => checkLimits(TINY, tight), /buffer logits takes 524288 bytes.* 524287/);
  }
});

test("memory is weights four times over and activations that grow with the batch", () => {
  const weights = parameters(TINY).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const activations = [...tensorSizes(TINY).values()].reduce((sum, size) => sum + size, 0);
  const gaps = sizeBytesOf(TINY) / 4 - 4 * weights - activations;
  assert.ok(gaps >= 0 && gaps < 4 * 64 * parameters(TINY).length, `${gaps} elements of gaps`);
  assert.equal(tensorSizes(TINY).get("h1.lse"), TINY.B * TINY.H * TINY.T);
  assert.equal(tensorSizes(TINY).has(`x${TINY.layers}`), true);
});

test("operations of a step are six for each weight of a product and token, and attention", () => {
  const { layers, C, T, B, H, D } = TINY;
  const matrices = parameters(TINY).filter(({ name }) => name.endsWith(".weight"));
  const products = matrices.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  let attention = 0;
  for (let i = 0; i < T; i++) attention += layers * B * H * (i + 1) * D * 2 * 7;
  assert.equal(flopsPerStep(TINY), 6 * B * T * products + attention);
  assert.equal(attentionSpec(TINY).D * attentionSpec(TINY).H, C);
});

test("the corrections of AdamW undo what its averages lack at the start", () => {
  const schedule = new Schedule(0.25);
  for (let t = 1; t <= 60; t++) {
    const [rate, decay, rest1, rest2, epsilon, correct1, correct2] = schedule.next();
    const known = [rate, decay, rest1, rest2, epsilon];
    assert.deepEqual(known, [0.25, 0.1, 1 - 0.9, 1 - 0.95, 1e-8].map(Math.fround));
    assert.ok(Math.abs(correct1 * (1 - 0.9 ** t) - 1) < 1e-6, `step ${t}`);
    assert.ok(Math.abs(correct2 * (1 - 0.95 ** t) - 1) < 1e-6, `step ${t}`);
  }
});
