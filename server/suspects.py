"""What a wrong output looks like: which known mistake gives just these values.

Tried on one head (and those that share its keys), on some of its rows or keys, the wrong ones
among them; so it takes a fraction of what judging took, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from server.attention_problem import F64, Array, Problem
from server.judged_parts import Part, Subject
from server.measure import BY_KEY
from server.mistake import Mistake, Place
from server.mistakes import mistakes
from server.outputs import AXES
from server.patterns import percent
from server.reference import Assembly, Block, walk
from server.relations import CLOSE, relation
from server.verdict import Output, ratios

LOOKED_AT = 48
"""Rows or keys that are compared."""
MOST_SCORES = {"row": 1 << 22, "key": 1 << 17}
"""Scores of a head and its group (dk and dv need them all); where there are more, no mistake is
tried."""
UNTRIED = "no known mistake was tried"
"""How the sentence begins that says why there is none."""
NAMED = 2
FITS = 0.8
"""Share of the elements, right and wrong, that a mistake has to explain to be named."""


def suspects(subject: Subject, name: str, index: dict[str, int]) -> list[str]:
    """Sentences that begin with "as if" or tell how the values relate; none for a right output.

    ``index``: an element that is wrong, of the head that is looked at. Where no mistake can be
    tried, the sentence says why.
    """
    if name == "dbias":
        return [f"{UNTRIED}: dbias is a sum over heads and batches"]
    group = subject.case.H // subject.case.Hkv
    kv_head = index["hkv"] if "hkv" in index else index["h"] // group
    output = subject.measured(name, Part(index["b"], kv_head))
    wrong = ~(ratios(output.actual, output.expected, output.allowed) <= 1)
    if not wrong.any():
        return []
    found, untried = list[str](), ""
    if subject.sample() is not None:
        untried = f"{UNTRIED}: only a sample of the rows and keys was judged"
    elif np.isfinite(output.actual).mean() <= 0.5:
        untried = f"{UNTRIED}: half of the head is not finite"
    else:
        place = Place(subject.problem, index["b"], kv_head, dict(subject.tile))
        picks = _looked_at(output, wrong)
        most = MOST_SCORES["key" if name in BY_KEY else "row"]
        if _scores(place) > most:
            untried = (
                f"{UNTRIED}: a head has {_scores(place)} scores, too many beyond "
                f"{most}; a shorter case has fewer"
            )
        else:
            tried = (m for m in mistakes(place) if name in m.outputs)
            right = Right(place.part, picks)
            fits = [
                (_explained(_values(m, name, picks, right), output, picks), f"as if {m.says}")
                for m in tried
            ]
            found = _best(fits)
            found = found or _other_scale(place.part, output, picks)
    if not found:
        said = relation(*_plane(output, wrong), float(subject.case.scale_f32))
        said = said or untried or _race(output, wrong, subject.tile)
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


class Right:
    """L and Δ of the right forward, [heads, rows], of the rows that are walked."""

    def __init__(self, problem: Problem, picks: Picks) -> None:
        self._problem, self._picks = problem, picks

    @cached_property
    def _arrays(self) -> tuple[F64, F64]:
        rows = self._picks.chosen.get("rows")
        whole = Assembly(self._problem, ("lse", "o"), rows=rows)
        for block in walk(self._problem, rows=rows):
            whole.add(block, block.outputs())
        assert self._problem.do is not None
        do = self._problem.do if rows is None else self._problem.do[:, rows]
        delta = (do * whole.arrays["o"]).sum(axis=3)
        return whole.arrays["lse"][0], delta[0].T

    def in_place(self, block: Block) -> Block:
        """The block of a wrong backward that has the right L, Δ and outer scale."""
        lse, delta = (array[block.h, block.at][:, None] for array in self._arrays)
        assert block.do is not None
        p = np.where(block.seen & np.isfinite(lse), block.p * np.exp(block.lse[:, None] - lse), 0)
        ds = p * (block.do @ block.v.T - delta)
        return replace(block, p=p, ds=ds, scale=self._problem.scale)


def _values(mistake: Mistake, name: str, picks: Picks, right: Right) -> F64:
    """What the mistake gives in the rows or keys that are compared."""
    whole = Assembly(mistake.problem, (name,), **picks.chosen)
    with np.errstate(all="ignore"):
        for block in walk(mistake.problem, **picks.chosen):
            made = right.in_place(block) if mistake.by_right_lse else block
            whole.add(block, mistake.pieces(made))
    return whole.arrays[name]


def _explained(value: F64, output: Output, picks: Picks) -> float:
    """The share of the wrong elements that are these values, and not those of the truth; 0 where
    others do not fit.
    """
    with np.errstate(all="ignore"):
        actual, expected, allowed = _picked(output, picks)
        empty = np.isneginf(value)
        error = np.where(empty, np.where(actual <= -1e30, 0.0, np.inf), np.abs(actual - value))
        slack = 4 * allowed + _close(output) * np.abs(np.where(empty, 0.0, value))
        fits = error <= slack
        differs = ~(np.abs(expected - value) <= 4 * slack) & ~(empty & np.isneginf(expected))
        wrong = ~(ratios(actual, expected, allowed) <= 1)
        if not (fits & differs).any() or fits.mean() < FITS:
            return 0.0
        return float((fits & wrong).sum() / wrong.sum())


def _best(fits: list[tuple[float, str]]) -> list[str]:
    """What explains most; of equals, the plainest."""
    share = max((share for share, _ in fits), default=0.0)
    if share < FITS:
        return []
    said = "" if share > 0.99 else f" (which explains {percent(share)} of the wrong elements)"
    # Two sizes of tiles may say the same.
    return list(dict.fromkeys(text + said for other, text in fits if other > share - 0.01))[:NAMED]


def _picked(output: Output, picks: Picks) -> tuple[F64, F64, F64]:
    axis = AXES[output.name].index(picks.axis)
    arrays = (output.actual, output.expected, output.allowed)
    a, e, w = (array.take(picks.at, axis).astype(np.float64) for array in arrays)
    return a, e, w


def _other_scale(problem: Problem, output: Output, picks: Picks) -> list[str]:
    """Whether scores that are some per cent too large or too small explain the values.

    Gauss-Newton from the right scale: each step compares the error with what a small change of
    the scale would do.
    """
    name, factor = output.name, 1.0
    actual, _, _ = _picked(output, picks)
    right = Right(problem, picks)

    def value(at: float) -> F64:
        changed = replace(problem, scale=problem.scale * at)
        return _values(Mistake("", (name,), changed), name, picks, right)

    with np.errstate(all="ignore"):
        for _ in range(4):
            now = value(factor)
            slope = (value(factor + 1e-4) - now) / 1e-4
            known = np.isfinite(slope) & np.isfinite(actual - now)
            factor += float(((actual - now) * slope)[known].sum() / (slope * slope)[known].sum())
            if not 0.5 < factor < 2:
                return []
    if _explained(value(factor), output, picks) < FITS:
        return []
    return [f"as if the scale of the scores were {factor:.5g} times what it should be"]


def _race(output: Output, wrong: Array, tile: Mapping[str, int]) -> str:
    """Whether only what the last invocations of a workgroup make is right: where invocations run
    one after the other, as on a CPU, only those read what all the others have written.
    """
    axis = "j" if output.name in BY_KEY else "i"
    size = tile.get(axis, 0)
    position = output.axes.index(axis)
    others = tuple(n for n in range(wrong.ndim) if n != position)
    hit = np.asarray(wrong.any(axis=others))
    number = np.arange(len(hit)) % max(size, 1)
    last = int(number[hit].max())
    if len(hit) < 2 * size or not size // 2 <= last < size - 1 or hit[number <= last].mean() < 0.8:
        return ""
    return (
        f"only the last {size - 1 - last} of each {size} are right, which the last invocations of "
        "a workgroup make: a missing barrier looks like that, as earlier ones read what is not "
        "written yet"
    )


def _close(output: Output) -> float:
    return CLOSE if output.actual.dtype == np.float32 else 2.0**-9


def _plane(output: Output, wrong: Array) -> tuple[F64, F64, F64]:
    """Wrong elements, NaN elsewhere, with the last axis across: channels or keys (lse: rows)."""
    actual = np.where(wrong, output.actual.astype(np.float64), np.nan)
    columns = 1 if output.name == "lse" else actual.shape[-1]
    shape = (-1, columns)
    return actual.reshape(shape), output.expected.reshape(shape), output.allowed.reshape(shape)
