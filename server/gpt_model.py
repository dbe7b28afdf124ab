"""A byte-level GPT: its parameters, its loss and all gradients, written out by hand in NumPy.

::

    x = wte[tokens] + wpe
    layers times   x += attention(q, k, v) proj,   q, k, v = LN(x) (q | k | v)
                   x += GELU(LN(x) fc) out
    loss = mean cross entropy of LN(x) head against the next bytes

Every product but the head has a bias. The dtype of the weights is the dtype of the computation:
float32 to run beside the page, float64 to check gradients.
Source: Radford et al., "Language models are unsupervised multitask learners" (2019), with q, k and
v as three matrices and a head of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from server import gpt_layers as nn
from server import rng
from server.gpt_layers import Array, Tokens
from server.presets import VOCABULARY, GptConfig

WEIGHTS_TAG = 32
"""Philox tag of the first parameter; parameter n draws from the stream WEIGHTS_TAG + n."""

SIGMA = 0.02
"""Standard deviation of initial weights, as in GPT-2."""

Start = Literal["normal", "residual", "ones", "zeros"]
Weights = dict[str, Array]


@dataclass(frozen=True)
class Parameter:
    """A tensor that is learnt. ``start``: how it begins; residual = normal, times 1/√(2 layers)."""

    name: str
    shape: tuple[int, ...]
    start: Start

    @property
    def decays(self) -> bool:
        """Matrices shrink with every step; gains, shifts and biases do not."""
        return len(self.shape) == 2


def parameters(config: GptConfig) -> list[Parameter]:
    """All parameters in their fixed order, which numbers the Philox streams."""
    C, hidden = config.C, 4 * config.C
    found = [
        Parameter("wte", (VOCABULARY, C), "normal"),
        Parameter("wpe", (config.T, C), "normal"),
    ]
    for n in range(config.layers):
        found += _norm(f"h{n}.ln1", C)
        for name in ("q", "k", "v"):
            found += _linear(f"h{n}.{name}", C, C, "normal")
        found += _linear(f"h{n}.proj", C, C, "residual")
        found += _norm(f"h{n}.ln2", C)
        found += _linear(f"h{n}.fc", C, hidden, "normal")
        found += _linear(f"h{n}.out", hidden, C, "residual")
    return [*found, *_norm("lnf", C), Parameter("head.weight", (C, VOCABULARY), "normal")]


def _norm(name: str, C: int) -> list[Parameter]:
    return [Parameter(f"{name}.gamma", (C,), "ones"), Parameter(f"{name}.beta", (C,), "zeros")]


def _linear(name: str, inputs: int, outputs: int, start: Start) -> list[Parameter]:
    weight = Parameter(f"{name}.weight", (inputs, outputs), start)
    return [weight, Parameter(f"{name}.bias", (outputs,), "zeros")]


def initial_weights(config: GptConfig, seed: int) -> Weights:
    """Float32, the bits that ``static/js/train/parameters.js`` makes.

    A drawn weight is a Philox normal, which is exact, times a float32 constant: one rounding.
    """
    sigma = {
        "normal": np.float32(SIGMA),
        "residual": np.float32(SIGMA / math.sqrt(2 * config.layers)),
    }
    weights: Weights = {}
    for n, p in enumerate(parameters(config)):
        if p.start in sigma:
            drawn = rng.random_normals(seed, WEIGHTS_TAG + n, math.prod(p.shape))
            weights[p.name] = (drawn * sigma[p.start]).reshape(p.shape)
        else:
            weights[p.name] = np.full(p.shape, p.start == "ones", np.float32)
    return weights


def loss_and_gradients(
    weights: Mapping[str, Array], tokens: Tokens, targets: Tokens, config: GptConfig
) -> tuple[float, Weights]:
    """The loss of one batch, tokens and targets [B, T], and its gradient by every weight.

    Non-finite values are not refused: they reach the loss, where a gate sees them.
    """
    with np.errstate(all="ignore"):  # BLAS raises spurious flags
        return _loss_and_gradients(weights, tokens, targets, config)


def _loss_and_gradients(
    w: Mapping[str, Array], tokens: Tokens, targets: Tokens, config: GptConfig
) -> tuple[float, Weights]:
    B, T, C = *tokens.shape, config.C
    grads: Weights = {}
    x = (w["wte"][tokens] + w["wpe"][:T]).reshape(B * T, C)
    kept = []
    for n in range(config.layers):
        x, activations = _block(w, f"h{n}", x, (B, T, C), config.H)
        kept.append(activations)
    y = nn.layer_norm(x, w["lnf.gamma"], w["lnf.beta"])
    loss, dlogits = nn.cross_entropy(y @ w["head.weight"], targets.reshape(-1))

    dy, grads["head.weight"], _ = nn.linear_backward(dlogits, y, w["head.weight"])
    dx = _norm_backward(w, grads, "lnf", dy, x)
    for n in reversed(range(config.layers)):
        dx = _block_backward(w, grads, f"h{n}", dx, kept[n], (B, T, C))
    grads["wte"] = nn.embedding_backward(dx, tokens.reshape(-1), VOCABULARY)
    grads["wpe"] = np.zeros_like(w["wpe"])
    grads["wpe"][:T] = dx.reshape(B, T, C).sum(axis=0)
    return loss, grads


@dataclass(frozen=True)
class _Activations:
    """What the backward of a block needs of its forward; [N, ·] with N = B·T."""

    x1: Array  # [N, C] stream before attention
    y1: Array  # [N, C] normalized
    q: Array  # [B, T, C]
    k: Array
    v: Array
    p: Array  # [B, H, T, T]
    o: Array  # [B, T, C]
    x2: Array  # [N, C] stream before the MLP
    y2: Array  # [N, C] normalized
    u: Array  # [N, 4C] before GELU
    g: Array  # [N, 4C] after it


def _linear_forward(w: Mapping[str, Array], name: str, x: Array) -> Array:
    y: Array = x @ w[f"{name}.weight"] + w[f"{name}.bias"]
    return y


def _block(
    w: Mapping[str, Array], h: str, x1: Array, shape: tuple[int, int, int], heads: int
) -> tuple[Array, _Activations]:
    y1 = nn.layer_norm(x1, w[f"{h}.ln1.gamma"], w[f"{h}.ln1.beta"])
    q, k, v = (_linear_forward(w, f"{h}.{name}", y1).reshape(shape) for name in ("q", "k", "v"))
    o, p = nn.attention(q, k, v, heads)
    x2 = x1 + _linear_forward(w, f"{h}.proj", o.reshape(x1.shape))
    y2 = nn.layer_norm(x2, w[f"{h}.ln2.gamma"], w[f"{h}.ln2.beta"])
    u = _linear_forward(w, f"{h}.fc", y2)
    g = nn.gelu(u)
    kept = _Activations(x1, y1, q, k, v, p, o, x2, y2, u, g)
    return x2 + _linear_forward(w, f"{h}.out", g), kept


def _block_backward(
    w: Mapping[str, Array],
    grads: Weights,
    h: str,
    dx: Array,
    kept: _Activations,
    shape: tuple[int, int, int],
) -> Array:
    """The gradient of the stream before the block from the one behind it, dx [N, C]."""

    def linear(name: str, dy: Array, x: Array) -> Array:
        weight = f"{h}.{name}.weight"
        d, grads[weight], grads[f"{h}.{name}.bias"] = nn.linear_backward(dy, x, w[weight])
        return d

    du = nn.gelu_backward(linear("out", dx, kept.g), kept.u)
    dx = dx + _norm_backward(w, grads, f"{h}.ln2", linear("fc", du, kept.y2), kept.x2)
    do = linear("proj", dx, kept.o.reshape(dx.shape)).reshape(shape)
    dq, dk, dv = nn.attention_backward(do, kept.q, kept.k, kept.v, kept.o, kept.p)
    pieces = {"q": dq, "k": dk, "v": dv}
    dy = sum(linear(name, d.reshape(dx.shape), kept.y1) for name, d in pieces.items())
    return dx + _norm_backward(w, grads, f"{h}.ln1", np.asarray(dy), kept.x1)


def _norm_backward(w: Mapping[str, Array], grads: Weights, name: str, dy: Array, x: Array) -> Array:
    gamma = f"{name}.gamma"
    dx, grads[gamma], grads[f"{name}.beta"] = nn.layer_norm_backward(dy, x, w[gamma])
    return dx
