"""Philox4x32-10: the random words behind every input, the same on the page and here.

    key      (seed low, seed high)
    counter  (block low, block high, tensor tag, layout version)

Block n gives words 4n … 4n+3. A counter-based generator needs no state, so any word can be had
alone and in any order, which is what lets NumPy, JavaScript and a shader agree on a tensor.
The twin is ``static/js/rng.js``; the distributions below use exact operations only.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Floats = NDArray[np.float32]

LAYOUT_VERSION = 0
"""Last counter word. Raise it when the mapping from words to elements changes."""

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
"""Key increments of the rounds: the golden ratio and √3 − 1, as Random123 has them."""

WORDS_PER_NORMAL = 6
_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_CHUNK_BLOCKS = 1 << 16
"""Blocks at a time: the dozen uint64 arrays of a round then stay inside the cache."""


def philox(counter: NDArray[np.uint64], key: tuple[int, int]) -> Words:
    """The four words of each counter: counter [4, n] (values below 2³²) → words [n, 4].

    >>> [f"{w:08x}" for w in philox(np.zeros((4, 1), np.uint64), (0, 0))[0]]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    m0, m1 = (np.uint64(m) for m in MULTIPLIERS)
    for r in range(ROUNDS):
        k0, k1 = (np.uint64((k + r * w) & 0xFFFFFFFF) for k, w in zip(key, WEYL, strict=True))
        p0, p1 = c0 * m0, c2 * m1
        c0, c1, c2, c3 = (p1 >> _SHIFT) ^ c1 ^ k0, p1 & _MASK, (p0 >> _SHIFT) ^ c3 ^ k1, p0 & _MASK
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def words(seed: int, tag: int, count: int, start_block: int = 0) -> Words:
    """The first ``count`` words of the stream ``tag``, from word 4·start_block on.

    >>> [f"{w:08x}" for w in words(0, 0, 5)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8', 'f8e4cca4']
    """
    out = np.empty(count, np.uint32)
    key = (seed & 0xFFFFFFFF, seed >> 32)
    for first in range(0, -(-count // 4), _CHUNK_BLOCKS):
        end = min(first + _CHUNK_BLOCKS, -(-count // 4))
        block = np.arange(start_block + first, start_block + end, dtype=np.uint64)
        counter = np.empty((4, block.size), np.uint64)
        counter[0], counter[1] = block & _MASK, block >> _SHIFT
        counter[2], counter[3] = tag, LAYOUT_VERSION
        piece = out[4 * first : 4 * end]
        piece[:] = philox(counter, key).reshape(-1)[: piece.size]
    return out


def uniforms(w: Words) -> Floats:
    """[0, 1) in steps of 2⁻²⁴, one word each."""
    return (w >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def f16_exact(w: Words) -> Floats:
    """[-1, 1) in steps of 2⁻¹⁰, one word each: the same values in f32, f16 and f64."""
    return (w >> np.uint32(21)).astype(np.float32) * np.float32(2.0**-10) - np.float32(1)


def normals(w: Words) -> Floats:
    """Irwin-Hall: the sum of the twelve 16-bit halves of six words, minus its mean. σ = 1, |x| ≤ 6.

    The sum is an integer below 2²⁰ and the factor a power of two, so no rounding takes place;
    a true normal would need ``log`` and ``cos``, which no two platforms compute alike.
    """
    halves = w.reshape(-1, WORDS_PER_NORMAL)
    low_and_high = (halves & np.uint32(0xFFFF)) + (halves >> np.uint32(16))
    total: NDArray[np.int32] = low_and_high.sum(axis=1, dtype=np.int32) - np.int32(6 * 65535)
    return total.astype(np.float32) * np.float32(2.0**-16)


def random_normals(seed: int, tag: int, count: int) -> Floats:
    """The first ``count`` normals of the stream ``tag``; element e uses words 6e … 6e+5."""
    out = np.empty(count, np.float32)
    # 2 elements take 3 blocks, so pieces of an even number of elements start at a block.
    step = 2 * _CHUNK_BLOCKS
    for first in range(0, count, step):
        piece = out[first : first + step]
        piece[:] = normals(words(seed, tag, WORDS_PER_NORMAL * piece.size, first // 2 * 3))
    return out
