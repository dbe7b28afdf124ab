"""A golden case: a problem, the values that others published or computed for it, and how far off
a result may be.

Golden cases are judged by their own absolute tolerances, seeded cases by ``tolerance.py``. Where
they come from, and in which files they lie, stands in ``golden_files.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from server.attention_problem import Problem
from server.tolerance import FLUSHED
from server.verdict import LSE_EMPTY

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GoldenCase:
    """One golden case: what to compute and what must come out.

    ``expected`` and ``tolerance`` by output name; o, dq, dk, dv as ``[B,T,heads,D]``, lse
    ``[B,H,Tq]``, attn ``[B,H,Tq,Tk]`` or, with ``attn_rows``, those rows of it; dbias as the bias.
    ``needs`` names what an implementation must be able to do beyond causal float32 with Tq = Tk.
    """

    folder: str
    name: str
    problem: Problem
    align: str
    expected: dict[str, F64]
    tolerance: dict[str, float]
    needs: frozenset[str]
    relative: dict[str, float] = field(default_factory=dict)
    only_finite: frozenset[str] = frozenset()
    free_rows: tuple[int, ...] = ()
    attn_rows: npt.NDArray[np.intp] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of :func:`server.reference.attention` beside q, k, v."""
        p = self.problem
        names = ("do", "bias", "causal", "window", "softcap", "scale")
        return {"align": self.align, **{name: getattr(p, name) for name in names}}

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"


@dataclass(frozen=True)
class Check:
    """One output held against its expected values.

    ``ratio``: the largest |error| / tolerance; infinite where no error can be given (NaN, a wrong
    shape), 0 where finiteness is all that is asked. ``bad``: how many elements are wrong.
    """

    ratio: float
    problem: str | None = None
    bad: int = 0


def check(case: GoldenCase, outputs: Mapping[str, Array]) -> dict[str, Check]:
    """Every output that the case knows, judged.

    Heads may be merged (``[B,T,heads·D]``) and attn may be whole. Outputs that the case knows
    nothing of are passed over; NaN and infinity never pass, except L of rows without keys.
    """
    return {
        name: _check(case, name, np.asarray(given))
        for name, given in outputs.items()
        if name in case.expected
    }


def _check(case: GoldenCase, name: str, given: Array) -> Check:
    expected = case.expected[name]
    if name == "attn" and case.attn_rows is not None and given.ndim == 4:
        given = given[:, :, case.attn_rows]
    merged = (*expected.shape[:2], -1)
    if given.shape == expected.reshape(merged).shape and expected.ndim == 4:
        given = given.reshape(expected.shape)
    if given.shape != expected.shape:
        return _impossible(f"shape {given.shape}, expected {expected.shape}", expected.size)
    with np.errstate(all="ignore"):
        got = given.astype(np.float64)
        if nan := int(np.isnan(got).sum()):
            return _impossible(f"{nan} NaN", nan)
        empty = np.isneginf(expected) if name == "lse" else np.zeros(expected.shape, bool)
        if full := int((got[empty] > LSE_EMPTY).sum()):
            why = "a row that sees no key has neither −inf nor a value up to −1e30"
            return _impossible(why, full)
        free = _free(case, name, expected.shape) | empty
        if infinite := int((np.isinf(got) & ~(free if name == "lse" else empty)).sum()):
            return _impossible(f"{infinite} infinite", infinite)
        if name in case.only_finite:
            return Check(0.0)
        allowed = _allowed(case, name)
        error = np.where(free, 0.0, np.abs(got - np.where(empty, 0.0, expected)))
        bad = ~(error <= allowed)
    ratio = float(error.max()) / allowed
    if not bad.any():
        return Check(ratio)
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    return Check(
        ratio,
        f"{int(bad.sum())} of {bad.size} off; worst at {tuple(map(int, at))}: {got[at]:.9g}, "
        f"expected {expected[at]:.9g} ± {allowed:.3g}",
        int(bad.sum()),
    )


def _impossible(problem: str, bad: int) -> Check:
    return Check(float("inf"), problem, bad)


def _allowed(case: GoldenCase, name: str) -> float:
    """The tolerance, but no less than what flushing subnormal numbers costs: WGSL permits it."""
    allowed = case.tolerance.get(name, 0.0)
    if name in case.relative:
        expected = case.expected[name]
        size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
        allowed = case.relative[name] * float(size)
    return max(allowed, FLUSHED)


def _free(case: GoldenCase, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Elements of rows whose value is a matter of policy, so long as it is finite (L: no NaN)."""
    free = np.zeros(shape, bool)
    rows = list(case.free_rows)
    if rows and name in ("o", "dq"):
        free[:, rows] = True
    elif rows and name in ("lse", "attn"):
        free[:, :, rows] = True
    return free
