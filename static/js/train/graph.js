// @ts-check
/**
 * The model as lists of dispatches, tensors by the names of memory.js:
 *
 *     x0 = wte[tokens] + wpe
 *     y1 = LN(x)   q, k, v = y1 (q | k | v)   o = attention(q, k, v)   x2 = x + o proj
 *     y2 = LN(x2)  u = y2 fc   g = GELU(u)                             x  = x2 + g out
 *     y  = LN(x)   logits = y head   loss = mean cross entropy
 *
 * server/gpt_model.py is the same in NumPy.
 */
import { VOCABULARY } from "./config.js";
import { Layers } from "./layers.js";

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {import("./memory.js").Memory} Memory
 * @typedef {import("./program.js").Dispatch} Dispatch
 * @typedef {import("./program.js").Foreign} Foreign
 *
 * @typedef {"q" | "k" | "v" | "o" | "lse"} ForwardName
 * @typedef {ForwardName | "do" | "dq" | "dk" | "dv"} BackwardName
 *
 * @typedef {object} Attention causal attention for one (B, T, H, D), tensors [B, T, H·D], lse
 *   [B, H, T]. Both record into an encoder that has no pass open, and write every element
 * @property {(encoder: GPUCommandEncoder, buffers: Record<ForwardName, GPUBufferBinding>) => void}
 *   forward q, k, v → o, lse
 * @property {(encoder: GPUCommandEncoder, buffers: Record<BackwardName, GPUBufferBinding>) => void}
 *   backward all but the last three → dq, dk, dv
 */

/**
 * Loss and gradients of one batch.
 * @param {Config} config
 * @param {Memory} memory
 * @param {Attention} attention
 * @returns {(Dispatch | Foreign)[]}
 */
export function gradientGraph(config, memory, attention) {
  const { layers, C, T, B } = config;
  const N = B * T;
  const parts = new Layers(memory, N);
  const tensor = (/** @type {string} */ name) => memory.tensor(name);
  const weight = (/** @type {string} */ name) => memory.parameter("W", name);
  const gradient = (/** @type {string} */ name) => memory.parameter("G", name);
  const blocks = Array.from({ length: layers }, (_, n) =>
    blockGraph(config, memory, parts, attention, n),
  );
  const end = { x: `x${layers}`, stats: "stats" };

  return [
    {
      kernel: "embed",
      sizes: { rows: N, columns: C, depth: T },
      buffers: {
        tokens: tensor("tokens"),
        wte: weight("wte"),
        wpe: weight("wpe"),
        X: tensor("x0"),
      },
    },
    ...blocks.flatMap(({ forward }) => forward),
    parts.norm("lnf", { ...end, y: "y" }, C),
    {
      kernel: "matmul",
      sizes: { rows: N, columns: VOCABULARY, depth: C },
      buffers: { A: tensor("y"), B: weight("head.weight"), Y: tensor("logits") },
    },
    {
      kernel: "cross_entropy",
      sizes: { rows: N, columns: VOCABULARY },
      buffers: {
        X: tensor("logits"),
        targets: tensor("targets"),
        loss: tensor("losses"),
        dlogits: tensor("dlogits"),
      },
    },
    {
      kernel: "row_mean",
      sizes: { rows: 1, columns: N },
      buffers: { X: tensor("losses"), Y: tensor("loss") },
    },

    ...parts.productBackward("head.weight", { dy: "dlogits", x: "y", dx: "dy" }, [C, VOCABULARY]),
    ...parts.normBackward("lnf", { ...end, dy: "dy", dx: "dx" }, C),
    ...blocks.toReversed().flatMap(({ backward }) => backward),
    {
      kernel: "embed_backward",
      sizes: { rows: VOCABULARY, columns: C, depth: N },
      buffers: { tokens: tensor("tokens"), dX: tensor("dx"), dwte: gradient("wte") },
    },
    {
      kernel: "position_backward",
      sizes: { rows: T, columns: C, depth: N },
      buffers: { dX: tensor("dx"), dwpe: gradient("wpe") },
    },
  ];
}

/**
 * Block n: from the stream x{n} to x{n+1}, and dx from behind it to before it.
 * @param {Config} config
 * @param {Memory} memory
 * @param {Layers} parts
 * @param {Attention} attention
 * @param {number} n
 * @returns {Record<"forward" | "backward", (Dispatch | Foreign)[]>}
 */
function blockGraph({ C, T, B, H, D }, memory, parts, attention, n) {
  const N = B * T;
  const h = `h${n}`;
  const tensor = (/** @type {string} */ name) => memory.tensor(name);
  const own = (/** @type {string} */ name) => memory.tensor(`${h}.${name}`);
  const before = { x: `x${n}`, stats: `${h}.stats1` };
  const between = { x: `${h}.x2`, stats: `${h}.stats2` };
  const kept = { q: own("q"), k: own("k"), v: own("v"), o: own("o"), lse: own("lse") };
  const gradients = { do: tensor("do"), dq: tensor("dq"), dk: tensor("dk"), dv: tensor("dv") };
  const product = B * H * T * (T + 1) * D; // of one T×T product, half of it masked

  /** @type {(x: string, y: string) => Dispatch} */
  const add = (x, y) => ({
    kernel: "add",
    sizes: { rows: N, columns: C },
    buffers: { A: tensor(x), B: tensor("added"), Y: tensor(y) },
  });
  const inner = { sizes: { rows: N, columns: 4 * C } };

  return {
    forward: [
      parts.norm(`${h}.ln1`, { ...before, y: `${h}.y1` }, C),
      ...["q", "k", "v"].map((name) =>
        parts.linear(`${h}.${name}`, `${h}.y1`, `${h}.${name}`, [C, C]),
      ),
      { encode: (encoder) => attention.forward(encoder, kept), work: 2 * product },
      parts.linear(`${h}.proj`, `${h}.o`, "added", [C, C]),
      add(before.x, between.x),
      parts.norm(`${h}.ln2`, { ...between, y: `${h}.y2` }, C),
      parts.linear(`${h}.fc`, `${h}.y2`, `${h}.u`, [C, 4 * C]),
      { kernel: "gelu", ...inner, buffers: { X: own("u"), Y: own("g") } },
      parts.linear(`${h}.out`, `${h}.g`, "added", [4 * C, C]),
      add(between.x, `x${n + 1}`),
    ],
    backward: [
      ...parts.linearBackward(`${h}.out`, { dy: "dx", x: `${h}.g`, dx: "dg" }, [4 * C, C]),
      {
        kernel: "gelu_backward",
        ...inner,
        buffers: { X: own("u"), dY: tensor("dg"), dX: tensor("du") },
      },
      ...parts.linearBackward(`${h}.fc`, { dy: "du", x: `${h}.y2`, dx: "dy" }, [C, 4 * C]),
      ...parts.normBackward(`${h}.ln2`, { ...between, dy: "dy", dx: "dx" }, C, ["ACCUMULATE"]),
      ...parts.linearBackward(`${h}.proj`, { dy: "dx", x: `${h}.o`, dx: "do" }, [C, C]),
      {
        encode: (encoder) => attention.backward(encoder, { ...kept, ...gradients }),
        work: 5 * product,
      },
      ...["q", "k", "v"].flatMap((name) =>
        parts.linearBackward(
          `${h}.${name}`,
          { dy: `d${name}`, x: `${h}.y1`, dx: "dy" },
          [C, C],
          name === "q" ? [] : ["ACCUMULATE"],
        ),
      ),
      ...parts.normBackward(`${h}.ln1`, { ...before, dy: "dy", dx: "dx" }, C, ["ACCUMULATE"]),
    ],
  };
}

/**
 * One step of AdamW for every group.
 * @param {Memory} memory
 * @returns {Dispatch[]}
 */
export function updateGraph(memory) {
  return memory.groups.map(({ name, size, decaying }) => ({
    kernel: "adamw",
    sizes: { rows: 1, columns: size, decaying },
    buffers: {
      update: memory.tensor("update"),
      G: memory.tensor(`${name}.G`),
      W: memory.tensor(`${name}.W`),
      M: memory.tensor(`${name}.M`),
      V: memory.tensor(`${name}.V`),
    },
  }));
}
