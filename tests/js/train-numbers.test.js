// The model's dispatches, run by emulated kernels, against the losses and gradients of the NumPy
// twin: that the graph, its wiring and the optimizer compute the model, without a GPU.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { batch } from "../../static/js/train/data.js";
import { gradientGraph, updateGraph } from "../../static/js/train/graph.js";
import { tensorSizes } from "../../static/js/train/memory.js";
import { Schedule } from "../../static/js/train/optimizer.js";
import { firstValues, groupsOf, parameters } from "../../static/js/train/parameters.js";
import { EMULATED, emulatedAttention } from "./train-emulator.js";

const golden = JSON.parse(
  readFileSync(new URL("../data/train-golden.json", import.meta.url), "utf8"),
);
const text = new Uint8Array(
  readFileSync(new URL("../../static/js/train/corpus.txt", import.meta.url)),
);

/** Typed arrays in place of buffers. @param {any} config */
function arrays(config) {
  const groups = groupsOf(parameters(config));
  const tensors = new Map();
  for (const [name, size] of tensorSizes(config)) {
    const integers = name === "tokens" || name === "targets";
    tensors.set(name, integers ? new Uint32Array(size) : new Float32Array(size).fill(Number.NaN));
  }
  for (const { name, size } of groups) {
    for (const kind of "WGMV") tensors.set(`${name}.${kind}`, new Float32Array(size));
  }
  return /** @type {any} */ ({
    groups,
    tensor: (/** @type {string} */ name) => tensors.get(name),
    parameter: (/** @type {string} */ kind, /** @type {string} */ name) => {
      const group = groups.find(({ places }) => places.has(name));
      const place = group?.places.get(name);
      assert.ok(group && place, name);
      return tensors.get(`${group.name}.${kind}`).subarray(place.offset, place.offset + place.size);
    },
  });
}

/** @param {any[]} list */
function run(list) {
  for (const item of list) {
    if ("encode" in item) item.encode(null);
    else EMULATED[item.kernel](item.buffers, item.sizes, item.flags ?? []);
  }
}

/** Two numbers that change when an element does, or moves. @param {Float32Array} values */
function fingerprint(values) {
  let length = 0;
  let order = 0;
  values.forEach((x, n) => {
    length += x * x;
    order += x * ((n % 7) - 3);
  });
  return [Math.sqrt(length), order];
}

for (const { config, sizes, seed, losses, gradients } of golden) {
  if (losses === undefined) continue;
  test(`${config} trains to the losses and gradients of the NumPy twin`, () => {
    const memory = arrays(sizes);
    for (const parameter of parameters(sizes)) {
      memory.parameter("W", parameter.name).set(firstValues(parameter, sizes, seed));
    }
    const own = emulatedAttention(sizes);
    const attention = /** @type {any} */ ({
      forward: (/** @type {null} */ _, /** @type {any} */ tensors) => own.forward(tensors),
      backward: (/** @type {null} */ _, /** @type {any} */ tensors) => own.backward(tensors),
    });
    const gradient = gradientGraph(sizes, memory, attention);
    const update = updateGraph(memory);
    const schedule = new Schedule(sizes.rate);
    losses.forEach((/** @type {number} */ expected, /** @type {number} */ step) => {
      const { tokens, targets } = batch(text, sizes, seed, step);
      memory.tensor("tokens").set(tokens);
      memory.tensor("targets").set(targets);
      run(gradient);
      const [loss] = memory.tensor("loss");
      assert.ok(Math.abs(loss - expected) < 2e-6 * expected, `step ${step}: ${loss}, ${expected}`);
      if (step === losses.length - 1) return;
      memory.tensor("update").set(schedule.next());
      run(update);
    });
    for (const [name, expected] of Object.entries(gradients)) {
      const found = fingerprint(memory.parameter("G", name));
      const allowed = 1e-3 * expected[0] + 1e-9;
      for (const n of [0, 1]) {
        assert.ok(Math.abs(found[n] - expected[n]) < allowed, `${name}: ${found}, ${expected}`);
      }
    }
  });
}
