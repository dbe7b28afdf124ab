"""Negative controls: would the bounds of this case notice a kernel with a known mistake?

Each control is a wrong answer made from the reference: the same walk over a changed problem, or the
truth rearranged. It is compared exactly as a kernel's output is. A control that changes the result
at all must miss at least one bound, and one of them has to change it, else the case proves nothing
and is vacuous.

==================  =============================================================================
zeros               every output but lse is zero
mean of V           all keys that a row sees weigh the same (o and attn; lse stays right)
heads swapped       head h holds the results of head h − 1
mask off by one     every row loses the last key that it sees
scale ×1.001        the scale of the scores is 0.1 % too large
==================  =============================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from server.attention_problem import F64, Array, Problem
from server.reference import Assembly, walk
from server.report import Control
from server.verdict import ratios

MAX_SCORES = 1 << 20
"""Above this many scores the controls run on some rows only: one caught row is proof enough."""

NOISE = 1e-7
"""Part of a bound up to which a difference counts as float64 rounding (which is about 1e-9).

For o and attn it is that part of their largest possible value if that is less: a bound far beyond
the values must not make every difference look like rounding.
"""

HEAD_AXIS = {"o": 2, "lse": 1, "attn": 1, "dq": 2, "dk": 2, "dv": 2}
ROW_AXIS = {"o": 1, "lse": 2, "attn": 2, "dq": 1}


def negative_controls(
    problem: Problem,
    truth: Mapping[str, F64],
    allowed: Mapping[str, F64],
    rows: Array | None = None,
) -> dict[str, Control]:
    """Every control on this problem, by name.

    truth, allowed: outputs by name as ``Assembly`` keeps them, of ``rows`` (None: of all).
    """
    B, Tq, Tk, H, _ = problem.shape
    known = np.arange(Tq) if rows is None else rows
    at_most = max(8, MAX_SCORES // (B * H * Tk))
    if rows is not None or len(known) > at_most:
        pick = np.unique(np.linspace(0, len(known) - 1, at_most).astype(int))
        truth = {n: truth[n].take(pick, axis) for n, axis in ROW_AXIS.items() if n in truth}
        allowed = {n: allowed[n].take(pick, ROW_AXIS[n]) for n in truth}
        rows = known[pick]
    names = tuple(truth)
    wrong = {
        "zeros": {n: np.zeros_like(truth[n]) for n in names if n != "lse"},
        "mean of V": _run(_mean_of_v(problem), tuple(n for n in names if n in ("o", "attn")), rows),
        "heads swapped": {n: np.roll(truth[n], 1, HEAD_AXIS[n]) for n in names if n in HEAD_AXIS},
        "mask off by one": _run(replace(problem, drop_last_key=True), names, rows),
        "scale ×1.001": _run(replace(problem, scale=problem.scale * 1.001), names, rows),
    }
    largest = {"o": float(np.abs(problem.v).max()), "attn": 1.0}
    noise = {n: NOISE * np.minimum(allowed[n], largest.get(n, np.inf)) for n in names}
    return {name: _control(answer, truth, allowed, noise) for name, answer in wrong.items()}


def _run(problem: Problem, names: tuple[str, ...], rows: Array | None) -> dict[str, F64]:
    whole = Assembly(problem, names, rows=rows)
    for block in walk(problem, rows=rows):
        whole.add(block, block.outputs())
    return whole.arrays


def _mean_of_v(problem: Problem) -> Problem:
    """Equal scores; of the bias only its mask is left."""
    bias = problem.bias
    mask = None if bias is None else np.where(np.isneginf(bias), -np.inf, 0.0)
    return replace(problem, scale=0.0, softcap=0.0, bias=mask, do=None)


def _control(
    answer: Mapping[str, F64],
    truth: Mapping[str, F64],
    allowed: Mapping[str, F64],
    noise: Mapping[str, F64],
) -> Control:
    found = (float(ratios(a, truth[n], allowed[n]).max()) for n, a in answer.items())
    ratio = max(found, default=0.0)  # a mistake in what this kernel does not compute
    changes = any((ratios(a, truth[n], noise[n]) > 1).any() for n, a in answer.items())
    return Control(changes=changes, caught=ratio > 1, ratio=ratio)
