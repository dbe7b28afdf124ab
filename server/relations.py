"""How wrong values relate to the right ones, where that is simple: a factor, an offset, zeros."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from server.attention_problem import F64

Bools = npt.NDArray[np.bool_]

CLOSE = 2e-5
"""Relative: wrong values are results of float32 arithmetic themselves."""


def relation(actual: F64, expected: F64, allowed: F64, scale: float) -> str:
    """A sentence about all the elements given, wrong ones of an output; "" if none is true.

    ``actual`` .. ``allowed``: [rows, columns], NaN where an element is not to be looked at.
    """
    known = np.isfinite(actual) & np.isfinite(expected)
    if known.sum() < 3:
        return ""
    a, e, slack = actual[known], expected[known], 4 * allowed[known]
    if (a == 0).all():
        return "the wrong elements hold 0"
    if _fits(a, e, slack):
        return ""  # too close to them to be anything else
    factor = float((a * e).sum() / max((e * e).sum(), 1e-300))
    if _fits(a, factor * e, slack * max(abs(factor), 1)):
        return f"each wrong value is {factor:.6g} times the right one{_named(factor, scale)}"
    offset = float(np.median(a - e))
    if _fits(a, e + offset, slack + 1e-5 * abs(offset)):
        return f"each wrong value is the right one {offset:+.6g}"
    return _by_row(actual, expected, allowed, known)


def _by_row(actual: F64, expected: F64, allowed: F64, known: Bools) -> str:
    """Rows whose own factor each makes them right."""
    if actual.shape[1] < 3:
        return ""
    a, e = np.where(known, actual, 0.0), np.where(known, expected, 0.0)
    size = (e * e).sum(axis=1)
    rows = known.any(axis=1) & (size > 0)
    if rows.sum() < 2:
        return ""
    factor = (a[rows] * e[rows]).sum(axis=1) / size[rows]
    fitted = factor[:, None] * e[rows]
    slack = 4 * np.where(known, allowed, 0.0)[rows] * np.maximum(np.abs(factor), 1)[:, None]
    if not _fits(a[rows], fitted, slack):
        return ""
    low, high = float(factor.min()), float(factor.max())
    return (
        f"each wrong row is the right one times a factor of its own, {low:.4g} to {high:.4g}: "
        "a division or a rescale of whole rows is off"
    )


def _fits(actual: F64, wanted: F64, slack: F64) -> bool:
    close = np.abs(actual - wanted) <= slack + CLOSE * np.abs(wanted)
    return bool(close.mean() > 0.99)


def _named(factor: float, scale: float) -> str:
    """What a factor probably is."""
    known = {
        "its sign is turned": -1.0,
        "the scale, applied once more": scale,
        "1 / scale: the scale was left out": 1 / scale,
        "log₂ e: base 2 instead of e": math.log2(math.e),
        "ln 2: base e instead of 2": math.log(2),
    }
    for name, value in known.items():
        if math.isclose(factor, value, rel_tol=1e-4) and not math.isclose(value, 1, rel_tol=1e-4):
            return f" ({name})"
    return ""
