"""Where a kernel departs from the truth, in a sentence, and why: hypotheses that its own numbers
confirm.

Each hypothesis is a wrong formula over what the kernel itself told (the state before the tile, the
scores and weights of the tile). It is named when it gives the kernel's numbers in every row that is
beyond its bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from server.attention_problem import F64, Array
from server.report import Report
from server.trace import FORWARD, MOST_NUMBERS, Departure, Quantity, Step, Trace

SYMBOLS = {"S": "S", "m": "m_i", "l": "l_i", "alpha": "alpha", "P": "P", "O": "the partial O"}
CLOSE = 2e-4
"""Relative: the hypotheses use float32 numbers, and the sums of a tile."""

Guess = tuple[F64 | float, str]


def sentence(trace: Trace, scale: float, report: Report | None = None) -> str:
    """What a person wants to read first. ``report``: the verdict on the run that was traced."""
    if not trace.traced:
        return "No kernel told a tile." if not trace.values else ""
    left = _left_out(trace)
    if not trace.steps:
        return f"No kernel told a tile.{left}"
    departure = trace.departure
    if departure is None:
        worst, name, title = max(
            (quantity.worst, name, step.title)
            for step in trace.steps
            for name, quantity in step.quantities.items()
        )
        known = "in every step" if not left else "as far as it was told"
        return (
            f"Right {known}: nothing is beyond its bound; the worst is {SYMBOLS.get(name, name)} "
            f"at {worst:.2g} of what is allowed ({title}).{_behind(trace, report)}{left}"
        )
    step = trace.steps[departure.step]
    why = reason(trace, departure, scale)
    return f"{_before(trace, departure)} {_what(step, departure)}{': ' if why else ''}{why}.{left}"


def _left_out(trace: Trace) -> str:
    """What the steps do not show; "" where they show all."""
    lost, tiles = trace.told.lost, trace.left_out
    which = ""
    if tiles is not None:
        first, last = tiles[0], tiles[1] - 1
        which = f"key tile {first} is" if first == last else f"key tiles {first} to {last} are"
    if lost:
        so = f", so {which} left out" if which else ""
        return f" {lost} records found no room{so}."
    if which:
        return f" From there on {which} left out: a trace holds at most {MOST_NUMBERS} numbers."
    return ""


def _behind(trace: Trace, report: Report | None) -> str:
    """Where a fault can lie that no step shows; "" unless the verdict is that there is one."""
    if report is None or report.status != "fail":
        return ""
    wrong = {name for name, output in report.outputs.items() if output.bad}
    if report.finding is not None:
        wrong.add(report.finding.output)
    if wrong == {"attn"}:
        return (
            f" Only attn is wrong, and no traced kernel writes it: {_others(trace, report)} "
            "computes it anew, from Q, K and the log-sum-exp."
        )
    if wrong <= {"o", "lse", "attn"}:
        also = f" attn is written by {_others(trace, report)}." if "attn" in wrong else ""
        return (
            " The outputs are wrong all the same, so the fault comes after the last key tile: in "
            f"the division by l_i, in the log-sum-exp, or in how they are stored.{also}"
        )
    return (
        " The outputs are wrong all the same: look at what is made of P and dS, the sums over the "
        "tiles, the scale of dQ and dK, or how they are stored; or at another tile."
    )


def _others(trace: Trace, report: Report) -> str:
    """The kernels that ran and told nothing, of which one writes attn."""
    names = dict.fromkeys(str(one["kernel"]) for one in report.passes)
    return " or ".join(name for name in names if name not in trace.traced) or "another kernel"


def mark(trace: Trace) -> str:
    """The place alone: ``l_i of row 5 after key tile 2``; "" where nothing departs."""
    departure = trace.departure
    if departure is None:
        return ""
    step = trace.steps[departure.step]
    name = SYMBOLS.get(departure.quantity, departure.quantity)
    after = "after " if step.kind == FORWARD else "in the "
    return f"{name} of {rows_text(departure.rows)} {after}{step.title}"


def rows_text(rows: Sequence[int]) -> str:
    """
    >>> rows_text([5]), rows_text([8, 9, 10, 11]), rows_text([1, 2, 7, 9, 12, 13])
    ('row 5', 'rows 8–11', 'rows 1–2, 7 and 3 more')
    """
    runs: list[list[int]] = []
    for row in rows:
        if runs and row == runs[-1][1] + 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    shown = runs if len(runs) <= 3 else runs[:2]
    names = [str(a) if a == b else f"{a}–{b}" for a, b in shown]
    left = len(rows) - sum(b - a + 1 for a, b in shown)
    text = ", ".join(names) + (f" and {left} more" if left else "")
    return f"{'row' if len(rows) == 1 else 'rows'} {text}"


def _before(trace: Trace, departure: Departure) -> str:
    if departure.step == 0:
        return f"Already at {trace.steps[0].title}"
    if trace.steps[departure.step].kind != FORWARD:
        right = (
            "The forward is right" if trace.steps[0].kind == FORWARD else "Nothing before it parts"
        )
        if trace.steps[departure.step - 1].kind != FORWARD:
            right = f"{right}, and so is the {trace.steps[departure.step - 1].title}"
        return f"{right}; in the {trace.steps[departure.step].title}"
    last = trace.steps[departure.step - 1].title
    return f"Right up to {last}; at {trace.steps[departure.step].title}"


def _what(step: Step, departure: Departure) -> str:
    name = SYMBOLS.get(departure.quantity, departure.quantity)
    rows = rows_text(departure.rows)
    quantity = step.quantities[departure.quantity]
    if not quantity.told.any():
        tile = step.title if step.kind == FORWARD else "these keys"
        return f"{name} was never told, so the kernel did not visit {tile}"
    at = ""
    if departure.column is not None:
        across = "channel" if departure.quantity == "O" else "key"
        at = f" (row {departure.row}, {across} {departure.column})"
    elif len(departure.rows) > 1:
        at = f" (row {departure.row})"
    expected = _number(departure.expected, departure)
    if not _told_there(quantity):
        return f"{name} of {rows} was not told where it is {expected}{at}, so it was not computed"
    return f"{name} of {rows} is {_number(departure.actual, departure)} instead of {expected}{at}"


def _told_there(quantity: Quantity) -> bool:
    """Whether the kernel told the element that is worst off."""
    worst = np.where(np.isnan(quantity.ratio), -1, quantity.ratio).argmax()
    return bool(quantity.told.flat[int(worst)])


def _number(value: float, departure: Departure) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isneginf(value):
        return "masked" if departure.quantity in ("S", "P") else "−inf"
    return f"{value:.6g}"


def reason(trace: Trace, departure: Departure, scale: float) -> str:
    """The wrong formula that gives the kernel's numbers, in words; "" if none is known."""
    step = trace.steps[departure.step]
    quantity = step.quantities[departure.quantity]
    if not quantity.told.any():
        return ""
    before = trace.steps[departure.step - 1] if departure.step else None
    if before is not None and before.kind != step.kind:
        before = None
    bad = quantity.ratio > 1
    if masked := _masks(quantity, bad):
        return masked
    with np.errstate(all="ignore"):
        for guess, words in _guesses(trace, step, before, departure.quantity, scale):
            if _fits(quantity, bad, np.asarray(guess, np.float64)):
                return words
        return _factor(quantity, bad, scale)


def _masks(quantity: Quantity, bad: Array) -> str:
    """What a wrong mask looks like."""
    if quantity.name not in ("S", "P") or bad.ndim == 1:
        return ""
    hidden = np.isneginf(quantity.expected) if quantity.name == "S" else quantity.expected == 0
    taken = np.isneginf(quantity.actual) if quantity.name == "S" else quantity.actual == 0
    if (hidden & bad)[bad].all():
        if quantity.name == "P" and (quantity.actual[bad] == 1).all():
            return "masked keys weigh as much as the maximum: a masked score reached exp"
        return "keys that these rows must not see are not masked"
    if (taken & bad)[bad].all():
        return "keys that these rows see are masked"
    return ""


def _guesses(
    trace: Trace, step: Step, before: Step | None, name: str, scale: float
) -> Iterator[Guess]:
    q = step.quantities
    if step.kind != FORWARD:
        yield from _backward_guesses(q, name)
        return
    old = None if before is None else before.quantities
    if name == "alpha":
        yield 1.0, "the old sums are not rescaled"
        yield 0.0, "the old sums are thrown away"
        yield 1 / q["alpha"].expected, "the exponent has the wrong sign"
        if old is not None:
            power = np.exp2(old["m"].actual - q["m"].actual)
            yield power, "it is a power of 2, not of e"
    if name == "m":
        tile = q["S"].actual.max(axis=1)
        if np.isneginf(q["m"].actual[q["m"].ratio > 1]).all():
            yield q["m"].actual, "no score is in it"
        if old is not None:
            yield old["m"].actual, "this tile's scores are not in the maximum"
            yield tile, "the maximum of the tiles before is forgotten"
    if name == "P":
        yield np.exp(q["S"].actual), "the maximum is not subtracted"
        m = q["m"].actual[:, None]
        yield np.exp2(q["S"].actual - m), "it is 2^(S − m_i), not e^(S − m_i)"
        if old is not None:
            was = old["m"].actual[:, None]
            yield np.exp(q["S"].actual - was), "it is taken against the maximum before this tile"
    if name == "l":
        total = q["P"].actual.sum(axis=1)
        yield from _sums(total, q, old, "l")
        if step.beyond is not None and step.beyond.any():
            kept = total * 0 if old is None else q["alpha"].actual * old["l"].actual
            yield kept + total + step.beyond, "keys past the last one are not masked"
    if name == "O" and trace.v is not None:
        v = trace.v[step.keys[0] : step.keys[1]]
        yield from _sums(np.where(q["P"].told, q["P"].actual, 0.0) @ v, q, old, "O")


def _sums(
    tile: F64, q: dict[str, Quantity], old: dict[str, Quantity] | None, name: str
) -> Iterator[Guess]:
    if old is None:
        yield 0.0 * tile, "this tile's share is not added"
        return
    was, alpha = old[name].actual, q["alpha"].actual
    factor = alpha if was.ndim == 1 else alpha[:, None]
    yield was + tile, "the old sum was not rescaled"
    yield tile, "the sum of the tiles before is lost"
    yield factor * was, "this tile's share is not added"
    yield factor * (was + tile), "this tile's share was rescaled with the old sum"
    yield factor * was + factor * factor * tile, "this tile's share was rescaled too"
    yield factor * factor * was + tile, "the old sum was rescaled twice"


def _backward_guesses(q: dict[str, Quantity], name: str) -> Iterator[Guess]:
    p, dp, ds, delta = (q[n].actual for n in ("P", "dP", "dS", "delta"))
    if name == "P":
        yield p * 0 + np.exp(-q["L"].actual)[:, None] * 0 + 1.0, "every weight is 1"
    if name == "delta":
        yield 0.0, "delta was not computed"
        yield -q["delta"].expected, "it has the wrong sign"
    if name == "dS":
        yield p * dp, "delta is not subtracted"
        yield p * (dp + delta[:, None]), "delta is added instead of subtracted"
        yield dp - delta[:, None], "it is not multiplied by P"
        yield p, "dP − delta is left out"
        yield ds * 0, "nothing was computed"


def _fits(quantity: Quantity, bad: Array, guess: F64) -> bool:
    """Whether the guess gives the kernel's numbers wherever they are wrong."""
    shaped = np.broadcast_to(guess, quantity.actual.shape)[bad]
    actual = quantity.actual[bad]
    if (shaped == actual).all():
        return True
    size = np.maximum(np.abs(actual), np.abs(quantity.expected[bad]))
    return bool((np.abs(shaped - actual) <= CLOSE * size).all())


def _factor(quantity: Quantity, bad: Array, scale: float) -> str:
    """The same factor everywhere?"""
    usable = bad & np.isfinite(quantity.actual) & np.isfinite(quantity.expected)
    usable &= np.abs(quantity.expected) > 0
    if usable.sum() < 2 or usable.sum() < bad.sum():
        return ""
    factors = quantity.actual[usable] / quantity.expected[usable]
    factor = float(np.median(factors))
    if not np.isfinite(factor) or factor == 0:
        return "all are zero" if factor == 0 else ""
    if not (np.abs(factors - factor) <= 10 * CLOSE * abs(factor)).all():
        return ""
    if quantity.name == "S" and abs(factor * scale - 1) < CLOSE:
        return "scale is left out"
    if quantity.name == "S" and abs(factor / scale - 1) < CLOSE:
        return "scale is applied twice"
    return f"each is {factor:.6g} times the right one"
