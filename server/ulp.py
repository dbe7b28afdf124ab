"""How many numbers of a type lie between two values: the distance in units in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from server.verdict import LSE_EMPTY

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]

BUCKETS = 33
"""Powers of two that a distance between float32 numbers may reach: 2⁰ to 2³²."""

_INTEGERS: dict[int, type[np.signedinteger[Any]]] = {2: np.int16, 4: np.int32}


def ulp_distance(actual: Array, expected: F64) -> F64:
    """Steps from ``expected``, rounded to the type of ``actual`` (f32 or f16), to ``actual``.

    Counted along all numbers of the type, through zero where signs differ; −0 and +0 are the same
    number. NaN where actual is NaN; inf where it is infinite and the rounded truth is not. Where
    expected is −inf (no key): 0 for actual ≤ LSE_EMPTY, else inf.

    >>> import numpy as np
    >>> x = np.array([1.0, 1.0000002, -1e-45, np.nan, np.inf], np.float32)
    >>> ulp_distance(x, np.array([1.0, 1.0, 1e-45, 1.0, 1.0])).tolist()
    [0.0, 2.0, 2.0, nan, inf]
    """
    with np.errstate(all="ignore"):
        rounded = expected.astype(actual.dtype)
        empty = np.isneginf(expected)
        found: F64 = np.abs(_place(actual) - _place(rounded)).astype(np.float64)
        found = np.where(np.isinf(actual) & (actual != rounded), np.inf, found)
        found = np.where(empty, np.where(actual <= LSE_EMPTY, 0.0, np.inf), found)
        return np.where(np.isnan(actual) | np.isnan(expected), np.nan, found)


def _place(values: Array) -> npt.NDArray[np.int64]:
    """The place of each number among all of its type, 0 for zero."""
    kind = _INTEGERS[values.dtype.itemsize]
    bits = np.ascontiguousarray(values).view(kind).astype(np.int64)
    magnitude = bits & np.iinfo(kind).max
    return np.where(bits < 0, -magnitude, magnitude)


class Histogram:
    """Counts of distances: none, 2ᵏ up to 2ᵏ⁺¹ − 1 steps for each k, infinite, and NaN."""

    def __init__(self) -> None:
        self.zero = self.inf = self.nan = 0
        self.buckets = np.zeros(BUCKETS, np.int64)

    def add(self, distances: F64) -> None:
        finite = distances[np.isfinite(distances)]
        self.nan += int(np.isnan(distances).sum())
        self.inf += int(np.isinf(distances).sum())
        self.zero += int((finite == 0).sum())
        _, exponents = np.frexp(finite[finite > 0])
        self.buckets += np.bincount(exponents - 1, minlength=BUCKETS)[:BUCKETS]

    def to_dict(self) -> dict[str, Any]:
        """``buckets[k]`` counts distances from 2ᵏ to 2ᵏ⁺¹ − 1, up to the last that is not empty."""
        used = np.flatnonzero(self.buckets)
        last = int(used[-1]) + 1 if used.size else 0
        return {
            "zero": self.zero,
            "buckets": self.buckets[:last].tolist(),
            "inf": self.inf,
            "nan": self.nan,
        }
