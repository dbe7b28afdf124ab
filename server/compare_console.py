"""What `fa2 compare` prints: a line a side, errors and times side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from server.adapters import adapter_name
from server.bench_report import BenchReport
from server.compare import Difference
from server.compare_run import Compared
from server.console import COLOURS
from server.history_console import duration
from server.report import Report

LETTERS = "AB"


def heading(console: Console, case: str, environment: Mapping[str, Any], kappa: float) -> None:
    engine = environment.get("engine") or "unknown browser"
    console.print(f"{case} · {engine} · {adapter_name(environment.get('adapter'))} · κ = {kappa:g}")


def print_compared(console: Console, found: Compared) -> None:
    for letter, side, report in zip(LETTERS, found.sides, found.reports, strict=True):
        word = report.status.upper()
        ran = "" if report.kernel in side.label else f" ({report.kernel})"
        console.print(
            Text.assemble(f"{letter} = {side.label}{ran}  ", (word, COLOURS.get(word, "green")))
        )
        lines = report.message.splitlines() if not report.ok else []
        for line in [*side.notes, *lines]:
            console.print(f"        {line}")
    if found.same:
        console.print(
            f"Both sides are the same kernel and text ({found.reports[0].kernel}): "
            "times differ by the noise of timing alone."
        )
    if any(report.outputs for report in found.reports):
        _print_table(console, found)


def _print_table(console: Console, found: Compared) -> None:
    """Aligned by hand: rich would fold the numbers of a narrow terminal or a pipe."""
    rows: list[tuple[str, ...]] = [
        ("", "A", "B", "A / B", "largest |A − B|", "ULP", "elements that differ")
    ]
    a, b = found.reports
    for name in dict.fromkeys([*a.outputs, *b.outputs]):
        rows.append((name, *_errors(name, a, b), *_apart(found.outputs.get(name))))
    if any(found.benches):
        ratio = found.ratio
        span = "–" if ratio is None else f"{ratio.value:.3g} ({ratio.low:.3g} to {ratio.high:.3g})"
        rows.append(("time", *(_median(side) for side in found.benches), span, "", "", ""))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        cells = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        console.print("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())


def _errors(name: str, a: Report, b: Report) -> tuple[str, str, str]:
    """Worst |error| / allowed of either, and their quotient."""
    ratios = [r.outputs[name].worst_ratio if name in r.outputs else None for r in (a, b)]
    first, second = ("–" if ratio is None else f"{ratio:.3g}" for ratio in ratios)
    one, other = ratios
    if one is None or other is None or not 0 < other < float("inf"):
        return first, second, "–"
    return first, second, f"{one / other:.3g}"


def _apart(one: Difference | None) -> tuple[str, str, str]:
    if one is None:
        return "–", "–", "–"
    if one.bit_equal:
        return "0", "0", "none: bit-equal"
    special = f", {one.apart} NaN or infinite in one alone" if one.apart else ""
    counts = f"{one.differ} of {one.total}{special}"
    return f"{one.max_abs:.3g}", f"{one.max_ulp:g}", counts


def _median(benches: list[BenchReport]) -> str:
    """The mean of the rounds' medians, or why there is none."""
    medians = [b.timing.ns.median for b in benches if b.timing is not None and b.timing.ns]
    if medians:
        return duration(sum(medians) / len(medians))
    if not benches:
        return "not timed"
    return "below the clock" if benches[-1].ok else benches[-1].status
