"""A trace on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from server.report import Report
from server.trace import Quantity, Step, Trace
from server.trace_reference import BY_ROW
from server.trace_words import SYMBOLS, sentence

MOST_ROWS = 8
MOST_VALUES = 40


def show_steps(
    console: Console, found: Trace, scale: float, report: Report, *, every: bool
) -> None:
    """A line a step; below the step where they part its wrong rows, or with ``every`` all rows.

    Behind a number ! is beyond the bound, ? not all of it known.
    """
    if not found.traced:
        return
    told = found.told
    first, end = told.rows
    console.print()
    console.print(
        f"b={told.b} h={told.h}, rows {first} to {end - 1}, told by {', '.join(found.traced)}: "
        f"{told.wanted} values{f', {told.lost} of them without room' if told.lost else ''}"
    )
    console.print("worst error / allowed, in the order in which they are computed:")
    departs = found.departure
    for number, step in enumerate(found.steps):
        cells = "  ".join(_cell(name, q) for name, q in step.quantities.items())
        here = departs is not None and departs.step == number
        keys = f"keys {step.keys[0]}–{step.keys[1] - 1}"
        console.print(f"{'▶' if here else ' '} {step.title:<14} {keys:<14} {cells}")
        if every or here:
            lines = list(_rows(step, first, bad_only=not every))
            shown = lines if every else lines[:MOST_ROWS]
            for line in shown:
                console.print(f"      {line}")
            if len(lines) > len(shown):
                console.print(f"      and {len(lines) - len(shown)} rows more; --rows shows all")
    console.print()
    console.print(sentence(found, scale, report))


def _cell(name: str, quantity: Quantity) -> str:
    mark = "!" if quantity.worst > 1 else "?" if quantity.unknown else " "
    if quantity.unknown == quantity.ratio.size:
        return f"{name} ?"
    return f"{name} {quantity.worst:.3g}{mark}"


def _rows(step: Step, first: int, *, bad_only: bool) -> Iterator[str]:
    """A line a row: kernel | float64 (error / allowed) of what a row has one of."""
    names = [name for name in step.quantities if name in BY_ROW]
    for r in range(len(step.quantities[names[0]].ratio)):
        quantities = [step.quantities[name] for name in names]
        if bad_only and not any(q.ratio[r] > 1 for q in quantities):
            continue
        cells = (
            f"{SYMBOLS.get(q.name, q.name)} {q.actual[r]:.6g} | {q.expected[r]:.6g} "
            f"({q.ratio[r]:.2g})"
            for q in quantities
        )
        yield f"row {first + r}: " + "  ".join(cells)


def show_values(console: Console, found: Trace) -> None:
    """What dbg() told; nothing where it told nothing."""
    if not found.values:
        return
    console.print()
    lost = f" ({found.told.lost} more found no room)" if found.told.lost else ""
    console.print(f"dbg() told {len(found.values)} values{lost}:")
    for v in found.values[:MOST_VALUES]:
        part = "" if v.component is None else f".{'xyzw'[v.component]}"
        who = f"workgroup {v.workgroup}  invocation {v.invocation}"
        console.print(f"  tag {v.tag}{part}  {who}  {v.value:.9g}")
    if len(found.values) > MOST_VALUES:
        console.print(f"  and {len(found.values) - MOST_VALUES} more")
