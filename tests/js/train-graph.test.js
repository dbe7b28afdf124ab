// The model's dispatches against the rules that make them a computation, without a GPU: what is
// read has been written, sizes agree, every gradient is written once.
import assert from "node:assert/strict";
import { test } from "node:test";

import { gradientGraph, updateGraph } from "../../static/js/train/graph.js";
import { constantsOf, KERNELS } from "../../static/js/train/kernels.js";
import { tensorSizes } from "../../static/js/train/memory.js";
import { groupsOf, parameters, sizeOf } from "../../static/js/train/parameters.js";

// No two sizes are equal, so that none can stand in for another.
const CONFIG = { layers: 2, C: 15, T: 7, B: 4, H: 3, D: 5, rate: 0.01 };
const N = CONFIG.B * CONFIG.T;
const PARAMETERS = parameters(CONFIG);

/** Bindings that know their name, in place of buffers. */
const memory = /** @type {any} */ ({
  groups: groupsOf(PARAMETERS),
  tensor: (/** @type {string} */ name) => {
    const group = memory.groups.find((/** @type {any} */ g) => name.startsWith(`${g.name}.`));
    const size = tensorSizes(CONFIG).get(name) ?? group?.size;
    assert.ok(size > 0, `no tensor ${name}`);
    return { label: name, elements: size };
  },
  parameter: (/** @type {string} */ kind, /** @type {string} */ name) => {
    const parameter = PARAMETERS.find((p) => p.name === name);
    assert.ok(parameter, `no parameter ${name}`);
    return { label: `${kind}:${name}`, elements: sizeOf(parameter.shape) };
  },
});

/** Elements that each kernel touches of each binding. @type {Record<string, (s: any) => any>} */
const TOUCHED = {
  matmul: ({ rows: r, columns: c, depth: d }) => ({ A: r * d, B: d * c, Y: r * c }),
  linear: ({ rows: r, columns: c, depth: d }) => ({ A: r * d, B: d * c, bias: c, Y: r * c }),
  add: ({ rows: r, columns: c }) => ({ A: r * c, B: r * c, Y: r * c }),
  gelu: ({ rows: r, columns: c }) => ({ X: r * c, Y: r * c }),
  gelu_backward: ({ rows: r, columns: c }) => ({ X: r * c, dY: r * c, dX: r * c }),
  embed: ({ rows: r, columns: c, depth: d }) => ({ tokens: r, wte: 256 * c, wpe: d * c, X: r * c }),
  embed_backward: ({ rows: r, columns: c, depth: d }) => ({ tokens: d, dX: d * c, dwte: r * c }),
  position_backward: ({ rows: r, columns: c, depth: d }) => ({ dX: d * c, dwpe: r * c }),
  layer_norm: ({ rows: r, columns: c }) => ({
    ...{ X: r * c, gamma: c, beta: c },
    ...{ Y: r * c, stats: 2 * r },
  }),
  layer_norm_backward: ({ rows: r, columns: c }) => ({
    ...{ X: r * c, stats: 2 * r, gamma: c },
    ...{ dY: r * c, dX: r * c },
  }),
  layer_norm_columns: ({ rows: r, columns: c }) => ({
    ...{ X: r * c, stats: 2 * r, dY: r * c },
    ...{ dgamma: c, dbeta: c },
  }),
  column_sum: ({ rows: r, columns: c }) => ({ X: r * c, Y: c }),
  row_mean: ({ rows: r, columns: c }) => ({ X: r * c, Y: r }),
  cross_entropy: ({ rows: r, columns: c }) => ({ X: r * c, targets: r, loss: r, dlogits: r * c }),
  adamw: ({ columns: c }) => ({ update: 7, G: c, W: c, M: c, V: c }),
};

/**
 * One item as what it reads and writes.
 * @param {any} item
 * @returns {{name: string, reads: any[], writes: any[], accumulates: boolean}}
 */
function effectOf(item) {
  if ("encode" in item) {
    const found = item.encode(null);
    return { accumulates: false, ...found };
  }
  const bindings = KERNELS[/** @type {keyof typeof KERNELS} */ (item.kernel)].bindings;
  constantsOf(item.kernel, item.flags ?? []); // throws for an unknown flag
  const touched = TOUCHED[item.kernel](item.sizes);
  for (const [name] of bindings) {
    const { label, elements } = item.buffers[name];
    assert.equal(elements, touched[name], `${item.kernel}: ${name} is ${label}`);
  }
  assert.deepEqual(Object.keys(item.buffers).sort(), bindings.map(([name]) => name).sort());
  const bound = (/** @type {string} */ access) =>
    bindings.filter(([, own]) => own === access).map(([name]) => item.buffers[name]);
  const accumulates = (item.flags ?? []).includes("ACCUMULATE");
  return { name: item.kernel, reads: bound("read"), writes: bound("write"), accumulates };
}

/** The attention as a record of its bindings: `encode` returns what it would do. */
const attention = /** @type {any} */ ({
  forward: (/** @type {null} */ _, /** @type {any} */ { q, k, v, o, lse, ...rest }) => {
    assert.deepEqual(rest, {});
    return { name: "forward", reads: [q, k, v], writes: [o, lse] };
  },
  backward: (/** @type {null} */ _, /** @type {any} */ { dq, dk, dv, ...reads }) => {
    assert.deepEqual(Object.keys(reads).sort(), ["do", "k", "lse", "o", "q", "v"]);
    return { name: "backward", reads: Object.values(reads), writes: [dq, dk, dv] };
  },
});

const effects = gradientGraph(CONFIG, memory, attention).map(effectOf);

test("every dispatch reads only what an earlier one wrote, a batch, or weights", () => {
  const written = new Set(["tokens", "targets"]);
  for (const { name, reads, writes, accumulates } of effects) {
    for (const { label } of [...reads, ...(accumulates ? writes : [])]) {
      assert.ok(written.has(label) || label.startsWith("W:"), `${name} reads ${label} too early`);
    }
    for (const { label } of writes) written.add(label);
  }
  assert.ok(written.has("loss"));
});

test("nothing is overwritten before it was read", () => {
  /** @type {Set<string>} written since the last read */
  const fresh = new Set();
  for (const { name, reads, writes, accumulates } of effects) {
    for (const { label } of reads) fresh.delete(label);
    for (const { label } of writes) {
      assert.ok(accumulates || !fresh.has(label), `${name} overwrites ${label}`);
      fresh.add(label);
    }
  }
});

test("no dispatch writes a buffer that it also reads, and none writes weights", () => {
  for (const { name, reads, writes } of [
    ...effects,
    ...updateGraph(memory).map((item) => effectOf(item)),
  ]) {
    const labels = reads.map(({ label }) => label);
    for (const { label } of writes) assert.ok(!labels.includes(label), `${name}: ${label}`);
  }
  assert.ok(effects.every(({ writes }) => writes.every(({ label }) => !label.startsWith("W:"))));
});

test("every gradient is written once, and nothing that is written goes unread but the loss", () => {
  const written = effects.flatMap(({ writes }) => writes.map(({ label }) => label));
  for (const { name } of PARAMETERS) {
    assert.equal(written.filter((label) => label === `G:${name}`).length, 1, name);
  }
  const read = new Set(effects.flatMap(({ reads }) => reads.map(({ label }) => label)));
  const unread = new Set(written.filter((label) => !read.has(label) && !label.startsWith("G:")));
  assert.deepEqual([...unread], ["loss"]);
});

test("every weight is read by the forward", () => {
  const end = effects.findIndex(({ name }) => name === "cross_entropy");
  const read = effects.slice(0, end).flatMap(({ reads }) => reads.map(({ label }) => label));
  for (const { name } of PARAMETERS) {
    assert.equal(read.filter((label) => label === `W:${name}`).length, 1, name);
  }
});

test("attention gets tensors of [B, T, C], a log-sum-exp of [B, H, T], and each block its own", () => {
  const forwards = effects.filter(({ name }) => name === "forward");
  assert.equal(forwards.length, CONFIG.layers);
  const labels = forwards.flatMap(({ reads, writes }) => [...reads, ...writes]);
  assert.equal(new Set(labels.map(({ label }) => label)).size, 5 * CONFIG.layers);
  for (const { label, elements } of labels) {
    assert.equal(elements, label.endsWith("lse") ? (N * CONFIG.C) / CONFIG.D : N * CONFIG.C);
  }
});

test("the stream's gradient passes every residual connection once", () => {
  // Two for each block: its attention and its MLP. The last layer norm starts the stream.
  const onto = effects.filter(({ writes, name }) => {
    return name === "layer_norm_backward" && writes[0].label === "dx";
  });
  assert.deepEqual(
    onto.map(({ accumulates }) => accumulates),
    [false, ...Array(2 * CONFIG.layers).fill(true)],
  );
});
