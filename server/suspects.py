"""What a wrong output looks like: which known mistake gives just these values.

Tried on one head (and those that share its keys), on some of its rows or keys, the wrong ones
among them; so it takes a fraction of what judging took, and says so.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from server.attention_problem import F64, Array
from server.judged_parts import Part, Subject
from server.measure import BY_KEY
from server.mistakes import Mistake, Place, mistakes
from server.outputs import AXES
from server.reference import Assembly, walk
from server.relations import CLOSE, relation
from server.verdict import Output, ratios

LOOKED_AT = 48
"""Rows or keys that are compared."""
MOST_SCORES = 1 << 22
"""dk and dv need every score of a head and its group; where there are more, no mistake is tried."""
NAMED = 2
FITS = 0.99
"""Share of the elements that a mistake has to explain."""


def suspects(subject: Subject, name: str, index: dict[str, int]) -> list[str]:
    """Sentences that begin with "as if" or tell how the values relate; none for a right output.

    ``index``: an element that is wrong, of the head that is looked at. dbias is not tried.
    """
    if name == "dbias":
        return []
    group = subject.case.H // subject.case.Hkv
    kv_head = index["hkv"] if "hkv" in index else index["h"] // group
    output = subject.measured(name, Part(index["b"], kv_head))
    wrong = ~(ratios(output.actual, output.expected, output.allowed) <= 1)
    if not wrong.any():
        return []
    found = []
    if subject.sample() is None and np.isfinite(output.actual).mean() > 0.5:
        place = Place(subject.problem, index["b"], kv_head, dict(subject.tile))
        picks = _looked_at(output, wrong)
        if name not in BY_KEY or _scores(place) <= MOST_SCORES:
            tried = (m for m in mistakes(place) if name in m.outputs)
            fit = (m for m in tried if _explains(m, output, picks))
            found = [f"as if {mistake.says}" for mistake in itertools.islice(fit, NAMED)]
    if not found:
        said = relation(*_plane(output, wrong), float(subject.case.scale_f32))
        found = [said] if said else []
    return found


def _scores(place: Place) -> int:
    _, Tq, Tk, H, Hkv = place.whole.shape
    return Tq * Tk * H // Hkv


@dataclass(frozen=True)
class Picks:
    """Rows or keys of an output that are compared."""

    axis: str  # i or j
    at: Array

    @property
    def chosen(self) -> dict[str, Array]:
        return {"rows" if self.axis == "i" else "keys": self.at}


def _looked_at(output: Output, wrong: Array) -> Picks:
    """Wrong rows or keys, the first and the last, and others between them."""
    axis = "j" if output.name in BY_KEY else "i"
    position = output.axes.index(axis)
    size = output.actual.shape[position]
    others = tuple(n for n in range(wrong.ndim) if n != position)
    hit = np.flatnonzero(wrong.any(axis=others))
    third = LOOKED_AT // 3
    some = [hit[:third], hit[-third:], np.linspace(0, size - 1, min(size, third)).astype(int)]
    return Picks(axis, np.unique(np.concatenate(some)))


def _explains(mistake: Mistake, output: Output, picks: Picks) -> bool:
    """Whether the kernel's values are those of the mistake, and not those of the truth."""
    name = output.name
    whole = Assembly(mistake.problem, (name,), **picks.chosen)
    with np.errstate(all="ignore"):
        for block in walk(mistake.problem, **picks.chosen):
            whole.add(block, mistake.pieces(block))
        axis = AXES[name].index(picks.axis)
        actual, expected, allowed = (
            array.take(picks.at, axis).astype(np.float64)
            for array in (output.actual, output.expected, output.allowed)
        )
        value = whole.arrays[name]
        empty = np.isneginf(value)
        error = np.where(empty, np.where(actual <= -1e30, 0.0, np.inf), np.abs(actual - value))
        slack = 4 * allowed + _close(output) * np.abs(np.where(empty, 0.0, value))
        fits = error <= slack
        differs = ~(np.abs(expected - value) <= 4 * slack) & ~(empty & np.isneginf(expected))
        explained = fits & differs
        told = ~(ratios(actual, expected, allowed) <= 1)
        return bool(
            explained.any() and fits.mean() >= FITS and (fits & told).sum() >= FITS * told.sum()
        )


def _close(output: Output) -> float:
    return CLOSE if output.actual.dtype == np.float32 else 2.0**-9


def _plane(output: Output, wrong: Array) -> tuple[F64, F64, F64]:
    """Wrong elements, NaN elsewhere, with the last axis across: channels or keys (lse: rows)."""
    actual = np.where(wrong, output.actual.astype(np.float64), np.nan)
    columns = 1 if output.name == "lse" else actual.shape[-1]
    shape = (-1, columns)
    return actual.reshape(shape), output.expected.reshape(shape), output.allowed.reshape(shape)
