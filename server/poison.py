"""What the memory that a kernel writes holds before each of the two passes.

Before the first it is one NaN word everywhere: read by mistake, it spoils whatever is made of it.
But ``max(old, x)`` drops a NaN, and no comparison with one is true; so before the second pass it is
large numbers of both signs, read as f32 and as two f16. What a kernel keeps of them, or adds to
them, differs from the first pass. Guards hold the pass's word, NaN, before either pass.

static/js/poison.js makes the same words.
"""

from __future__ import annotations

import itertools
import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

PERIOD = 2 * 32749
"""Words before they repeat: twice a prime, so that no stride of a tensor meets one sign alone."""

_serial = itertools.count(secrets.randbits(15))


def new_poison() -> tuple[int, int]:
    """Two words that are NaN as f32 and as two f16 halves, unlike those of 32767 other runs.

    The sign tells the passes apart; six bits of the upper and nine of the lower half count runs.
    """
    serial = next(_serial)
    word = 0x7FC0_7E00 | (serial >> 9 & 0x3F) << 16 | (serial & 0x1FF)
    return word, word | 0x8000_8000


def is_poison(word: int) -> bool:
    """NaN as float32 and as two float16: what no right kernel writes."""
    bits = np.array([word], np.uint32)
    return bool(np.isnan(bits.view(np.float32)).all() and np.isnan(bits.view(np.float16)).all())


def finite_words(word: int, count: int = PERIOD) -> Words:
    """The second pass's word at each place, given the word of its guards.

    The two halves of a word differ in sign, and so do the two words of a pair; which of them comes
    first is as good as random.

    >>> finite_words(0xFFC1FE05, 2).view(np.float16).tolist()
    [60832.0, -61760.0, -60832.0, 61760.0]
    """
    n = np.arange(min(count, PERIOD), dtype=np.uint32)
    mixed = (n >> np.uint32(1) ^ np.uint32(word)) * np.uint32(0x9E3779B1)
    mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    negative = (mixed ^ n) & np.uint32(1)
    upper = np.uint32(0x7B00) | mixed >> np.uint32(8) & np.uint32(0xFF) | negative << np.uint32(15)
    lower = np.uint32(0xFB00) | mixed >> np.uint32(16) & np.uint32(0xFF)
    return np.resize(upper << np.uint32(16) | lower ^ negative << np.uint32(15), count)


def still_poison(array: npt.NDArray[Any], number: int, word: int) -> Bools:
    """Which elements of a flat f32 or f16 array hold what they held before pass ``number``, 0 or 1.

    ``word`` is that of the pass.
    """
    words = np.full(PERIOD, word, np.uint32) if number == 0 else finite_words(word)
    fill = words.view(f"<u{array.dtype.itemsize}")
    bits = array.view(fill.dtype)
    found = np.empty(array.size, np.bool_)
    for start in range(0, array.size, fill.size):
        piece = bits[start : start + fill.size]
        found[start : start + fill.size] = piece == fill[: piece.size]
    return found
