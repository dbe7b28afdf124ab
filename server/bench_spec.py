"""What is counted when a case is timed: operations, bytes; and the cases of a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from server.cases import Case
from server.outputs import DTYPES, outputs_of

BACKWARD = 2.5
"""A backward counts as so many forwards: five matrix products, a forward has two."""

LENGTHS = tuple(512 << n for n in range(7))
"""512 … 32768."""
HEAD_SIZES = (64, 128)
HEADS = 16
MOST_S = 60.0
"""A case of a sweep may take so long, by what the case before it took."""

WARM_UPS = 10
"""What is run beside the samples (the check, warm-ups, wall time), in calls of a slow case."""


def visible_pairs(case: Case) -> int:
    """Pairs of a query and a key that it sees, of one head.

    >>> shapes = "T=8", "Tq=3,Tk=5", "T=8,window=2:0"
    >>> [visible_pairs(Case.parse(f"forward:D=4,{shape}")) for shape in shapes]
    [36, 12, 21]
    """
    left, right = case.window
    at = np.arange(case.Tq, dtype=np.int64) + case.offset
    first = np.zeros_like(at) if left < 0 else at - left
    end = np.full_like(at, case.Tk)
    if case.causal:
        end = np.minimum(end, at + 1)
    if right >= 0:
        end = np.minimum(end, at + right + 1)
    return int(np.maximum(0, np.minimum(end, case.Tk) - np.maximum(first, 0)).sum())


def flops(case: Case) -> float:
    """Floating-point operations that the case is credited with, whatever the kernel does: those of
    the two matrix products over the visible pairs, 4·D a pair; a backward 2.5 times that.

    >>> flops(Case.parse("forward:T=1024,H=16,D=64")) / 1e9, flops(Case.parse("backward:T=1,D=1"))
    (2.1495808, 10.0)
    """
    forward = 4.0 * case.D * case.B * case.H * visible_pairs(case)
    return forward * (BACKWARD if case.op == "backward" else 1.0)


def size_bytes(case: Case) -> int:
    """Bytes of the tensors that the operation reads and writes, each once.

    A backward reads o and lse too, which it is judged by as well.

    >>> size_bytes(Case.parse("forward:T=4,D=2")), size_bytes(Case.parse("backward:T=4,D=2"))
    (144, 272)
    """
    itemsize = DTYPES[case.dtype].itemsize
    inputs = (math.prod(shape) for name, shape in case.shapes().items() if name != "attn")
    return itemsize * sum(inputs) + sum(spec.bytes for spec in outputs_of(case))


def predicted_s(case: Case, samples: int, flops_per_s: float) -> float:
    """How long checking and timing takes at that speed."""
    return (samples + WARM_UPS) * flops(case) / flops_per_s


def series(kernel: str = "auto") -> Iterator[list[Case]]:
    """The series of a sweep: operation, type and head size; in each of them T grows."""
    for op in ("forward", "backward"):
        for dtype in ("f32", "f16"):
            for D in HEAD_SIZES:
                yield [
                    Case(op=op, Tq=T, Tk=T, H=HEADS, D=D, dtype=dtype, kernel=kernel)
                    for T in LENGTHS
                ]
