"""The arrays of a case, made from its seed: the same bits here and in ``static/js/inputs.js``.

Every family is defined by exact operations, or by one that IEEE 754 rounds once, in float32.
g stands for a fresh normal and u for a fresh uniform number of the tensor's own stream, h for a
query head, n for a key head, b for the batch, i and j for rows, d for the channel.

==========  =======================================================================================
normal      q, k, v = g
uniform     q, k, v = u, in [0, 1): nothing cancels
f16exact    q, k, v, do, bias in [-1, 1) in steps of 2⁻¹⁰: the same problem in f32 and in f16
zeros       q = k = 0, v = g: every visible key weighs the same
ties        q = g; every row of k and v repeats the first row of its head (g)
onehot      q_i = 8·e_(i mod D), k_j = 8·e_(j mod D), v = g: row i prefers keys j ≡ i (mod D)
large       q = 32·g, k, v = g: logits reach about ±100
negative    q = -2^x·(1 + u/256), k = 2^y·(1 + u/256), v = g, 2^(x+y) the largest power of two not
            above 10⁴/√D: every score lies between -5 000 and -10 100
growing     q = (1 + u)/2, k_j = 2^-(3+s)·j + g/8, v = g, 2^s the smallest power of two not below
            √D: scores grow by 0.05 to 0.1 a key, so the running maximum moves at every tile
headscaled  q = 2^(h mod 3 - 1)·g, k = 2^(n mod 3 - 1)·g, v = 2^(n mod 7 - 3)·g
indexcoded  q, k = g; v = 1 + (j, n, b, d)[d mod 4] mod 61: o[..., 1::4] reads n, o[..., 2::4] reads
            b, o[..., 3::4] reads d, whatever the weights are, and 61 divides no tile
==========  =======================================================================================

do and bias are normal except in f16exact. The scores named are those of the default scale.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server import rng
from server.cases import Case
from server.rng import Floats

TAGS = {"q": 0, "k": 1, "v": 2, "do": 3, "bias": 4}
"""Third counter word of each tensor's stream, and the order of the tensors in the digest."""

Arrays = dict[str, NDArray[Any]]


def make_inputs(case: Case) -> Arrays:
    """The inputs of ``case`` in logical, C order, float32 or (dtype=f16) float16.

    q, do [B, Tq, H, D]; k, v [B, Tk, Hkv, D]; do for op=backward only; bias [Tq, Tk] (tt),
    [H, Tq, Tk] (htt), [B, H, Tq, Tk] (bhtt) or [B, 1, 1, Tk] (b11t). ``case.layout`` changes
    nothing here: it is how the page stores them.
    """
    dtype = np.float16 if case.dtype == "f16" else np.float32
    shapes = case.shapes()
    return {
        name: _tensor(case, name, shapes[name]).astype(dtype, order="C")
        for name in TAGS
        if name in shapes
    }


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256, hexadecimal, over the little-endian bytes of q, k, v, do, bias in this order."""
    sha = hashlib.sha256()
    for name in TAGS:
        if name in arrays:
            array = np.ascontiguousarray(arrays[name])
            sha.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return sha.hexdigest()


def few_weights(case: Case) -> bool:
    """Whether the weights of a row take few values, each many times (see ``tolerance.py``)."""
    return case.dist == "onehot"


def _tensor(case: Case, name: str, shape: tuple[int, ...]) -> Floats:
    """One tensor in float32, before any rounding to f16."""
    size, tag = int(np.prod(shape)), TAGS[name]

    def g() -> Floats:
        return rng.random_normals(case.seed, tag, size).reshape(shape)

    def u() -> Floats:
        return rng.uniforms(rng.words(case.seed, tag, size)).reshape(shape)

    if case.dist == "f16exact":
        return rng.f16_exact(rng.words(case.seed, tag, size)).reshape(shape)
    if name in ("do", "bias"):
        return g()

    f = np.float32
    _, T, H, D = shape
    row = np.arange(T, dtype=np.int64)[:, None, None]  # [T, 1, 1]
    head = np.arange(H, dtype=np.int64)[:, None]  # [H, 1]
    match case.dist, name:
        case "uniform", _:
            return u()
        case "zeros", "q" | "k":
            return np.zeros(shape, f)
        case "ties", "k" | "v":
            return np.repeat(g()[:, :1], T, axis=1)
        case "onehot", "q" | "k":
            return np.broadcast_to(f(8) * (row % D == np.arange(D)), shape).astype(f)
        case "large", "q":
            return f(32) * g()
        case "negative", "q" | "k":
            x, y = negative_exponents(D)
            # 15 bits of u keep 1 + u/256 within the 24 bits of a float32.
            fine = rng.words(case.seed, tag, size).reshape(shape) >> np.uint32(17)
            factor = f(-(2.0**x)) if name == "q" else f(2.0**y)
            return factor * (f(1) + fine.astype(f) * f(2.0**-23))
        case "growing", "q":
            return (f(1) + u()) * f(0.5)
        case "growing", "k":
            return row.astype(f) * f(2.0 ** -(3 + growing_exponent(D))) + f(0.125) * g()
        case "headscaled", "q" | "k":
            return np.array([0.5, 1, 2], f)[head % 3] * g()
        case "headscaled", "v":
            return np.array([0.125, 0.25, 0.5, 1, 2, 4, 8], f)[head % 7] * g()
        case "indexcoded", "v":
            return _index_code(shape)
    return g()


def negative_exponents(D: int) -> tuple[int, int]:
    """x and y of the family ``negative``; integers only, so that no logarithm rounds.

    >>> negative_exponents(1), negative_exponents(64), negative_exponents(256)
    ((7, 6), (5, 5), (5, 4))
    """
    total = 0
    while 4 ** (total + 1) * D <= 10**8:
        total += 1
    return (total + 1) // 2, total // 2


def growing_exponent(D: int) -> int:
    """s of the family ``growing``.

    >>> [growing_exponent(D) for D in (1, 4, 5, 16, 17, 256)]
    [0, 1, 2, 2, 3, 4]
    """
    s = 0
    while 4**s < D:
        s += 1
    return s


def _index_code(shape: tuple[int, ...]) -> Floats:
    """Small whole numbers, so that f16 holds them too; never 0, which unwritten memory may hold."""
    b, t, n, d = np.indices(shape, dtype=np.int32, sparse=True)
    return (1 + np.choose(d % 4, (t, n, b, d)) % 61).astype(np.float32)
