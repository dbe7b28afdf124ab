"""The layers of the language model and their gradients, plain NumPy, in the dtype they are given.

A backward function takes the gradient of its layer's output (``dy``), what the forward read, and
gives the gradients of what the forward read, in the same order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # float32, or float64 when gradients are checked
Tokens = NDArray[np.integer[Any]]

LAYER_NORM_EPSILON = 1e-5
GELU_CUBIC = 0.044715
GELU_SCALE = math.sqrt(2 / math.pi)


def linear_backward(dy: Array, x: Array, w: Array) -> tuple[Array, Array, Array]:
    """Of ``y = x w + b``: dx, dw, db. x [N, K], w [K, M], dy [N, M]."""
    return dy @ w.T, x.T @ dy, dy.sum(axis=0)


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    """Rows of mean 0 and variance 1, then a gain and a shift for each channel. x [N, C]."""
    x_hat, _ = _normalized(x)
    return x_hat * gamma + beta


def layer_norm_backward(dy: Array, x: Array, gamma: Array) -> tuple[Array, Array, Array]:
    """dx, dgamma, dbeta."""
    x_hat, reciprocal = _normalized(x)
    g = dy * gamma
    mean = g.mean(axis=1, keepdims=True)
    along = (g * x_hat).mean(axis=1, keepdims=True)
    return reciprocal * (g - mean - x_hat * along), (dy * x_hat).sum(axis=0), dy.sum(axis=0)


def _normalized(x: Array) -> tuple[Array, Array]:
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    reciprocal = 1 / np.sqrt(variance + LAYER_NORM_EPSILON)
    return centred * reciprocal, reciprocal


def gelu(x: Array) -> Array:
    """GELU in the form with tanh: ½x(1 + tanh(√(2/π)(x + 0.044715x³)))."""
    y: Array = 0.5 * x * (1 + _gelu_tanh(x))
    return y


def gelu_backward(dy: Array, x: Array) -> Array:
    t = _gelu_tanh(x)
    slope = GELU_SCALE * (1 + 3 * GELU_CUBIC * x * x)
    dx: Array = dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    return dx


def _gelu_tanh(x: Array) -> Array:
    t: Array = np.tanh(GELU_SCALE * (x + GELU_CUBIC * x * x * x))
    return t


def attention(q: Array, k: Array, v: Array, heads: int) -> tuple[Array, Array]:
    """Causal attention of q, k, v [B, T, C] → o [B, T, C] and P [B, H, T, T].

    Not ``server/reference.py``: that is float64 by construction, since it judges; a twin has to
    round where the page rounds. The two are held against each other in the tests.
    """
    q, k, v = (_split(x, heads) for x in (q, k, v))
    T = q.shape[2]
    s = _scale(q) * (q @ k.swapaxes(2, 3))
    s = np.where(np.tri(T, dtype=np.bool_), s, -np.inf)  # row i sees the keys up to i
    e = np.exp(s - s.max(axis=3, keepdims=True))
    p = e / e.sum(axis=3, keepdims=True)
    return _join(p @ v), p


def attention_backward(
    do: Array, q: Array, k: Array, v: Array, o: Array, p: Array
) -> tuple[Array, Array, Array]:
    """dq, dk, dv, [B, T, C] each."""
    do, q, k, v, o = (_split(x, p.shape[1]) for x in (do, q, k, v, o))
    delta = (do * o).sum(axis=3, keepdims=True)
    ds = p * (do @ v.swapaxes(2, 3) - delta)
    dq, dk = _scale(q) * (ds @ k), _scale(q) * (ds.swapaxes(2, 3) @ q)
    return _join(dq), _join(dk), _join(p.swapaxes(2, 3) @ do)


def _scale(q: Array) -> float:
    """1/√D, rounded to float32 as the kernels have it."""
    return float(np.float32(1 / math.sqrt(q.shape[3])))


def _split(x: Array, heads: int) -> Array:
    """[B, T, C] → [B, H, T, D]."""
    B, T, C = x.shape
    return x.reshape(B, T, heads, C // heads).swapaxes(1, 2)


def _join(x: Array) -> Array:
    """[B, H, T, D] → [B, T, C]."""
    B, H, T, D = x.shape
    return x.swapaxes(1, 2).reshape(B, T, H * D)


def cross_entropy(logits: Array, targets: Tokens) -> tuple[float, Array]:
    """The mean of −log softmax(logits)[target] and its gradient. logits [N, V], targets [N]."""
    n = np.arange(len(targets))
    shifted = logits - logits.max(axis=1, keepdims=True)
    e = np.exp(shifted)
    total = e.sum(axis=1, keepdims=True)
    loss = (np.log(total[:, 0]) - shifted[n, targets]).mean()
    dlogits = e / total
    dlogits[n, targets] -= 1
    return float(loss), dlogits / len(targets)


def embedding_backward(dx: Array, tokens: Tokens, rows: int) -> Array:
    """The gradient of a table that ``tokens`` [N] were looked up in: [rows, C]."""
    table = np.zeros((rows, dx.shape[1]), dx.dtype)
    np.add.at(table, tokens, dx)
    return table
