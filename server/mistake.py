"""A known mistake of attention kernels: another result that can be computed and compared.

It is another problem (another mask, scale, head), or the right problem whose blocks give other
pieces (a rescale left out, Δ forgotten). Both go through ``reference.walk``: there is no second
copy of the mathematics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from server.attention_problem import F64, Array, Problem
from server.measure import part_of
from server.reference import Block

FORWARD = ("o", "lse", "attn")
GRADIENTS = ("dq", "dk", "dv")
ROWS = (*FORWARD, "dq")
ALL = (*FORWARD, *GRADIENTS)

Pieces = Callable[[Block], dict[str, F64]]


@dataclass(frozen=True)
class Mistake:
    """``says`` completes "as if …"; ``outputs``: those that it can explain.

    ``by_right_lse``: the backward alone is wrong, L and Δ are those of the right forward.
    """

    says: str
    outputs: tuple[str, ...]
    problem: Problem
    pieces: Pieces = Block.outputs
    by_right_lse: bool = False


@dataclass(frozen=True)
class Place:
    """One batch and key head of a whole problem, and the kernel's tiles ``{"i": Br, "j": Bc}``."""

    whole: Problem
    b: int
    kv_head: int
    tile: dict[str, int]

    @property
    def part(self) -> Problem:
        return part_of(self.whole, self.b, np.array([self.kv_head]))


def hidden_from(p: Problem, hidden: Array) -> Problem:
    """The problem with some keys taken from some rows, ``hidden`` [Tq,Tk]."""
    before = 0.0 if p.bias is None else p.bias
    return replace(p, bias=np.where(hidden, -np.inf, before))
