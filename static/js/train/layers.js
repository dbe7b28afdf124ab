// @ts-check
/** Layers with parameters as dispatches, forward and backward. */

/**
 * @typedef {import("./memory.js").Memory} Memory
 * @typedef {import("./program.js").Dispatch} Dispatch
 * @typedef {readonly [inputs: number, outputs: number]} Shape
 */

export class Layers {
  #memory;
  #rows;

  /**
   * @param {Memory} memory
   * @param {number} rows of all activations, B·T
   */
  constructor(memory, rows) {
    this.#memory = memory;
    this.#rows = rows;
  }

  /**
   * y = x weight + bias
   * @param {string} name
   * @param {string} x
   * @param {string} y
   * @param {Shape} shape
   * @returns {Dispatch}
   */
  linear(name, x, y, [inputs, outputs]) {
    const memory = this.#memory;
    return {
      kernel: "linear",
      sizes: { rows: this.#rows, columns: outputs, depth: inputs },
      buffers: {
        A: memory.tensor(x),
        B: memory.parameter("W", `${name}.weight`),
        bias: memory.parameter("W", `${name}.bias`),
        Y: memory.tensor(y),
      },
    };
  }

  /**
   * dx = or += dy weightᵀ, dweight = xᵀ dy, dbias = the sum of dy's rows.
   * @param {string} name
   * @param {{dy: string, x: string, dx: string}} tensors
   * @param {Shape} shape
   * @param {readonly string[]} [flags] ACCUMULATE: dx +=
   * @returns {Dispatch[]}
   */
  linearBackward(name, tensors, shape, flags) {
    const dbias = this.#memory.parameter("G", `${name}.bias`);
    return [
      ...this.productBackward(`${name}.weight`, tensors, shape, flags),
      {
        kernel: "column_sum",
        sizes: { rows: this.#rows, columns: shape[1] },
        buffers: { X: this.#memory.tensor(tensors.dy), Y: dbias },
      },
    ];
  }

  /**
   * The same without a bias.
   * @param {string} weight
   * @param {{dy: string, x: string, dx: string}} tensors
   * @param {Shape} shape
   * @param {readonly string[]} [flags]
   * @returns {Dispatch[]}
   */
  productBackward(weight, { dy, x, dx }, [inputs, outputs], flags = []) {
    const memory = this.#memory;
    return [
      {
        kernel: "matmul",
        sizes: { rows: this.#rows, columns: inputs, depth: outputs },
        buffers: {
          A: memory.tensor(dy),
          B: memory.parameter("W", weight),
          Y: memory.tensor(dx),
        },
        flags: ["TRANSPOSE_B", ...flags],
      },
      {
        kernel: "matmul",
        sizes: { rows: inputs, columns: outputs, depth: this.#rows },
        buffers: {
          A: memory.tensor(x),
          B: memory.tensor(dy),
          Y: memory.parameter("G", weight),
        },
        flags: ["TRANSPOSE_A"],
      },
    ];
  }

  /**
   * y = layer norm of x; stats are kept for the backward.
   * @param {string} name
   * @param {{x: string, y: string, stats: string}} tensors
   * @param {number} columns
   * @returns {Dispatch}
   */
  norm(name, { x, y, stats }, columns) {
    const memory = this.#memory;
    return {
      kernel: "layer_norm",
      sizes: { rows: this.#rows, columns },
      buffers: {
        X: memory.tensor(x),
        gamma: memory.parameter("W", `${name}.gamma`),
        beta: memory.parameter("W", `${name}.beta`),
        Y: memory.tensor(y),
        stats: memory.tensor(stats),
      },
    };
  }

  /**
   * dx = or +=, dgamma, dbeta.
   * @param {string} name
   * @param {{dy: string, x: string, stats: string, dx: string}} tensors
   * @param {number} columns
   * @param {readonly string[]} [flags] ACCUMULATE: dx +=
   * @returns {Dispatch[]}
   */
  normBackward(name, { dy, x, stats, dx }, columns, flags = []) {
    const memory = this.#memory;
    const shared = {
      X: memory.tensor(x),
      stats: memory.tensor(stats),
      dY: memory.tensor(dy),
    };
    const sizes = { rows: this.#rows, columns };
    return [
      {
        kernel: "layer_norm_backward",
        sizes,
        buffers: {
          ...shared,
          gamma: memory.parameter("W", `${name}.gamma`),
          dX: memory.tensor(dx),
        },
        flags,
      },
      {
        kernel: "layer_norm_columns",
        sizes,
        buffers: {
          ...shared,
          dgamma: memory.parameter("G", `${name}.gamma`),
          dbeta: memory.parameter("G", `${name}.beta`),
        },
      },
    ];
  }
}
