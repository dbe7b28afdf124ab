/**
 * The training kernels on the CPU, straight from the equations of their headers, so that the lists
 * of dispatches can be run without a GPU. Sums in float64, tensors in float32.
 */

/** @typedef {Record<string, any>} Tensors typed arrays by the kernel's names of its bindings */
/** @typedef {{rows: number, columns: number, depth: number, decaying: number}} Sizes */

/** @param {number} count @param {(n: number) => number} term */
function sum(count, term) {
  let total = 0;
  for (let n = 0; n < count; n++) total += term(n);
  return total;
}

/** @param {number} count @param {(n: number) => void} work */
function each(count, work) {
  for (let n = 0; n < count; n++) work(n);
}

/** @param {number} x */
const geluTanh = (x) => Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3));

/** @type {(t: Tensors, s: Sizes, flags: string[], store: (at: number, j: number, sum: number) => void) => void} */
function product({ A, B }, { rows, columns, depth }, flags, store) {
  const a = flags.includes("TRANSPOSE_A") ? [1, rows] : [depth, 1];
  const b = flags.includes("TRANSPOSE_B") ? [1, depth] : [columns, 1];
  each(rows * columns, (at) => {
    const i = Math.floor(at / columns);
    const j = at % columns;
    const dot = sum(depth, (k) => A[i * a[0] + k * a[1]] * B[k * b[0] + j * b[1]]);
    store(at, j, dot);
  });
}

/** @type {Record<string, (t: Tensors, s: Sizes, flags: string[]) => void>} */
export const EMULATED = {
  matmul: (t, s, flags) =>
    product(t, s, flags, (at, _, x) => {
      t.Y[at] = x + (flags.includes("ACCUMULATE") ? t.Y[at] : 0);
    }),
  linear: (t, s, flags) =>
    product(t, s, flags, (at, j, x) => {
      t.Y[at] = x + t.bias[j];
    }),
  add: ({ A, B, Y }, s) =>
    each(s.rows * s.columns, (n) => {
      Y[n] = A[n] + B[n];
    }),
  gelu: ({ X, Y }, s) =>
    each(s.rows * s.columns, (n) => {
      Y[n] = 0.5 * X[n] * (1 + geluTanh(X[n]));
    }),
  gelu_backward: ({ X, dY, dX }, s) =>
    each(s.rows * s.columns, (n) => {
      const t = geluTanh(X[n]);
      const slope = Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * X[n] ** 2);
      dX[n] = dY[n] * (0.5 * (1 + t) + 0.5 * X[n] * (1 - t * t) * slope);
    }),
  embed: ({ tokens, wte, wpe, X }, { rows, columns: C, depth: T }) =>
    each(rows * C, (at) => {
      const n = Math.floor(at / C);
      X[at] = wte[tokens[n] * C + (at % C)] + wpe[(n % T) * C + (at % C)];
    }),
  embed_backward: ({ tokens, dX, dwte }, { columns: C, depth }) => {
    dwte.fill(0);
    each(depth * C, (at) => {
      dwte[tokens[Math.floor(at / C)] * C + (at % C)] += dX[at];
    });
  },
  position_backward: ({ dX, dwpe }, { rows, columns: C, depth }) => {
    dwpe.fill(0);
    each(depth * C, (at) => {
      dwpe[at % (rows * C)] += dX[at];
    });
  },
  layer_norm: ({ X, gamma, beta, Y, stats }, { rows, columns: C }) =>
    each(rows, (n) => {
      const row = X.subarray(n * C, (n + 1) * C);
      const mean = sum(C, (c) => row[c]) / C;
      const reciprocal = 1 / Math.sqrt(sum(C, (c) => (row[c] - mean) ** 2) / C + 1e-5);
      stats.set([mean, reciprocal], 2 * n);
      each(C, (c) => {
        Y[n * C + c] = (row[c] - mean) * reciprocal * gamma[c] + beta[c];
      });
    }),
  layer_norm_backward: ({ X, stats, gamma, dY, dX }, { rows, columns: C }, flags) =>
    each(rows, (n) => {
      const [mean, reciprocal] = stats.subarray(2 * n);
      const hat = (/** @type {number} */ c) => (X[n * C + c] - mean) * reciprocal;
      const g = (/** @type {number} */ c) => dY[n * C + c] * gamma[c];
      const average = sum(C, g) / C;
      const along = sum(C, (c) => g(c) * hat(c)) / C;
      each(C, (c) => {
        const dx = reciprocal * (g(c) - average - hat(c) * along);
        dX[n * C + c] = dx + (flags.includes("ACCUMULATE") ? dX[n * C + c] : 0);
      });
    }),
  layer_norm_columns: ({ X, stats, dY, dgamma, dbeta }, { rows, columns: C }) =>
    each(C, (c) => {
      const hat = (/** @type {number} */ n) => (X[n * C + c] - stats[2 * n]) * stats[2 * n + 1];
      dgamma[c] = sum(rows, (n) => dY[n * C + c] * hat(n));
      dbeta[c] = sum(rows, (n) => dY[n * C + c]);
    }),
  column_sum: ({ X, Y }, { rows, columns: C }) =>
    each(C, (c) => {
      Y[c] = sum(rows, (n) => X[n * C + c]);
    }),
  row_mean: ({ X, Y }, { rows, columns: C }) =>
    each(rows, (n) => {
      Y[n] = sum(C, (c) => X[n * C + c]) / C;
    }),
  cross_entropy: ({ X, targets, loss, dlogits }, { rows, columns: C }) =>
    each(rows, (n) => {
      const row = X.subarray(n * C, (n + 1) * C);
      const most = row.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, b));
      const total = sum(C, (c) => Math.exp(row[c] - most));
      loss[n] = Math.log(total) - (row[targets[n]] - most);
      each(C, (c) => {
        const hit = c === targets[n] ? 1 : 0;
        dlogits[n * C + c] = (Math.exp(row[c] - most) / total - hit) / rows;
      });
    }),
  adamw: ({ update, G, W, M, V }, { columns, decaying }) => {
    const [rate, decay, rest1, rest2, epsilon, correct1, correct2] = update;
    each(columns, (n) => {
      M[n] += rest1 * (G[n] - M[n]);
      V[n] += rest2 * (G[n] ** 2 - V[n]);
      const change = (M[n] * correct1) / (Math.sqrt(V[n] * correct2) + epsilon);
      W[n] -= rate * (change + (n < decaying ? decay * W[n] : 0));
    });
  },
};

/**
 * Causal attention over [B, T, C] tensors, forward and backward.
 * @param {{B: number, T: number, H: number, D: number}} sizes
 */
export function emulatedAttention({ B, T, H, D }) {
  const scale = Math.fround(1 / Math.sqrt(D));
  /** Calls `visit` for each visible pair with the offsets of row i and key j, and their weights. */
  const pairs = (
    /** @type {Tensors} */ { q, k, lse },
    /** @type {(i: number, j: number, P: number, row: number) => void} */ visit,
  ) =>
    each(B * H * T, (row) => {
      const h = Math.floor(row / T) % H;
      const first = Math.floor(row / (H * T)) * T;
      const at = (/** @type {number} */ n) => ((first + n) * H + h) * D;
      const i = at(row % T);
      const scores = Array.from({ length: (row % T) + 1 }, (_, n) => {
        return scale * sum(D, (d) => q[i + d] * k[at(n) + d]);
      });
      lse[row] = Math.log(scores.reduce((total, s) => total + Math.exp(s), 0));
      scores.forEach((s, n) => {
        visit(i, at(n), Math.exp(s - lse[row]), row);
      });
    });
  return {
    forward: (/** @type {Tensors} */ t) => {
      t.o.fill(0);
      pairs(t, (i, j, P) =>
        each(D, (d) => {
          t.o[i + d] += P * t.v[j + d];
        }),
      );
    },
    backward: (/** @type {Tensors} */ t) => {
      for (const name of ["dq", "dk", "dv"]) t[name].fill(0);
      pairs(t, (i, j, P) => {
        const delta = sum(D, (d) => t.do[i + d] * t.o[i + d]);
        const dS = scale * P * (sum(D, (d) => t.do[i + d] * t.v[j + d]) - delta);
        each(D, (d) => {
          t.dq[i + d] += dS * t.k[j + d];
          t.dk[j + d] += dS * t.q[i + d];
          t.dv[j + d] += P * t.do[i + d];
        });
      });
    },
  };
}
