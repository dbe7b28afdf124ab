"""One attention problem, all parameters resolved, and which keys its rows see.

Key j is visible to row i when, with ``at = i + offset``: j ≤ at if causal, j ≥ at − l and
j ≤ at + r for window (l, r) (−1 = open), and the bias is not −inf.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from server.errors import CaseError, ShapeError

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]

BLOCK_ELEMENTS = 1 << 20
"""Scores held at a time: 8 MiB for each of the dozen float64 arrays of a block."""


@dataclass(frozen=True)
class Problem:
    """What is computed: the inputs in logical order and the parameters, all resolved.

    q, do: ``[B,Tq,H,D]`` (do has V's head size) · k: ``[B,Tk,Hkv,D]`` · v: ``[B,Tk,Hkv,Dv]`` ·
    bias: broadcasts to ``[B,H,Tq,Tk]``, −inf allowed. ``scale`` is used as it is: round it to
    float32 first when a kernel does. ``offset`` is Tk − Tq for bottom-right alignment, else 0.
    ``drop_last_key`` takes from every row the last key that it sees: the negative control
    "mask off by one", never the truth.
    """

    q: Array
    k: Array
    v: Array
    scale: float
    do: Array | None = None
    bias: Array | None = None
    causal: bool = True
    offset: int = 0
    window: tuple[int, int] = (-1, -1)
    softcap: float = 0.0
    drop_last_key: bool = False

    def __post_init__(self) -> None:
        for name, array in (("q", self.q), ("k", self.k), ("v", self.v)):
            if array.ndim != 4 or 0 in array.shape:
                raise ShapeError(f"{name} has shape {array.shape}; give [B, T, heads, D], none 0")
        (B, Tq, H, D), (Bk, Tk, Hkv, Dk) = self.q.shape, self.k.shape
        if (Bk, Dk) != (B, D) or H % Hkv:
            raise ShapeError(
                f"q {self.q.shape} and k {self.k.shape} disagree: batch and head size must be "
                "equal, and k's heads must divide q's"
            )
        if self.v.shape[:3] != (B, Tk, Hkv):
            raise ShapeError(f"v {self.v.shape} must match k {self.k.shape} except in head size")
        if self.do is not None and self.do.shape != (B, Tq, H, self.v.shape[3]):
            raise ShapeError(f"do {self.do.shape} must be {(B, Tq, H, self.v.shape[3])}, as o")
        if self.bias is not None:
            try:
                np.broadcast_to(self.bias, (B, H, Tq, Tk))
            except ValueError:
                raise ShapeError(
                    f"bias {self.bias.shape} does not broadcast to {(B, H, Tq, Tk)}"
                ) from None
        if self.softcap < 0 or min(self.window) < -1:
            raise CaseError(
                f"softcap={self.softcap}, window={self.window}: softcap is 0 (off) or positive, "
                "window sides are -1 (open) or more"
            )

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """(B, Tq, Tk, H, Hkv)."""
        B, Tq, H, _ = self.q.shape
        return B, Tq, self.k.shape[1], H, self.k.shape[2]

    @property
    def bias4(self) -> Array | None:
        """The bias with four axes, those it lacks being 1 long."""
        bias = self.bias
        return None if bias is None else bias.reshape((1,) * (4 - bias.ndim) + bias.shape)

    def key_range(self, rows: Array) -> tuple[Array, Array]:
        """First and one past the last key of each row by causality and window (not by bias)."""
        at, Tk = rows + self.offset, self.shape[2]
        left, right = self.window
        low = at - left if left >= 0 else np.zeros_like(at)
        high = at + right + 1 if right >= 0 else np.full_like(at, Tk)
        if self.causal:
            high = np.minimum(high, at + 1)
        low = np.clip(low, 0, Tk)
        return low, np.clip(high, low, Tk)

    def bias_of(self, b: int, h: int, rows: Array, span: slice) -> F64:
        """The bias of some rows and keys of a head, [R,K]; zeros if there is none."""
        B, Tq, Tk, H, _ = self.shape
        if self.bias is None:
            return np.zeros((len(rows), span.stop - span.start))
        whole = np.broadcast_to(self.bias, (B, H, Tq, Tk))
        return whole[b, h, rows, span].astype(np.float64)


def rows_with_keys(problem: Problem) -> npt.NDArray[np.bool_]:
    """Which rows see a key at all, ``[B,H,Tq]``: cheap, no scores are computed."""
    B, Tq, Tk, H, _ = problem.shape
    low, high = problem.key_range(np.arange(Tq))
    if problem.bias is None:
        return np.broadcast_to(high > low, (B, H, Tq))
    found = np.zeros((B, H, Tq), bool)
    step = max(1, BLOCK_ELEMENTS // Tk)
    for b, h, start in itertools.product(range(B), range(H), range(0, Tq, step)):
        rows, j = np.arange(start, min(start + step, Tq)), np.arange(Tk)
        seen = (j >= low[rows, None]) & (j < high[rows, None])
        seen &= ~np.isneginf(problem.bias_of(b, h, rows, slice(0, Tk)))
        found[b, h, rows] = seen.any(axis=1)
    return found
