"""The history on a terminal: a table, a plot of bars, a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from server.console import COLOURS
from server.history import Kept
from server.repro import NOT_REPEATED

Row = Mapping[str, Any]

BAR = 40  # characters
DECADES = (-4, 4)  # of |error| / allowed that bars tell apart
STATUS, RIGHT = 3, (4, 5)  # columns of the table


def print_table(console: Console, rows: Sequence[Row]) -> None:
    """Newest first; the case comes last, whole, on however narrow a terminal."""
    heads = ("run", "when", "by", "status", "worst", "time", "kernel", "case")
    lines = [
        (
            row["run"][:8],
            when(row),
            row["origin"],
            row["status"].upper(),
            ratio(row["worst"]),
            duration(time_of(row)),
            kernel(row),
            f"{row['case']}{trained(row)}",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    console.print(Text(_line(heads, widths), "bold"))
    for line in lines:
        text = Text(_line(line, widths))
        text.highlight_words([line[STATUS]], COLOURS.get(line[STATUS], "green"))
        console.print(text)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if n in RIGHT else cell.ljust(width)
        for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def print_plot(console: Console, rows: Sequence[Row]) -> None:
    """A bar a judged run, oldest first: worst |error| / allowed on a logarithmic scale."""
    low, high = DECADES
    limit = round(BAR * -low / (high - low))
    console.print(f"worst |error|/allowed, 1e{low} to 1e{high}; │ is the limit 1")
    for row in reversed(rows):
        worst = row["worst"]
        if worst is None:
            continue
        decade = high if math.isinf(worst) else math.log10(worst) if worst > 0 else low
        length = max(0, min(BAR, round(BAR * (decade - low) / (high - low))))
        bar = ["█" if n < length else " " for n in range(BAR)]
        bar[limit] = "│" if length <= limit else "┃"
        colour = "green" if worst <= 1 else "red"
        console.print(
            Text.assemble(
                f"{row['run'][:8]}  {when(row)}  ",
                ("".join(bar), colour),
                f" {ratio(worst):>8}  {duration(time_of(row)):>8}  {kernel(row)}  ",
                f"{row['case']}{trained(row)}",
            )
        )


def print_run(console: Console, kept: Kept) -> None:
    """The report of a run, its circumstances, and what can be done with it."""
    row, report = kept.row, kept.report
    console.print(Text.assemble(status(row), f"  {row['case']}"))
    for line in str(report["message"]).splitlines():
        console.print(f"        {line}")
    judged = report.get("report") or {} if row["kind"] == "bench" else report
    for name, output in judged.get("outputs", {}).items():
        console.print(f"        {name}: {_output(output)}")
    facts = {
        "run": f"{row['run']}, {when(row)}, by {row['origin']}",
        "kernel": kernel(row),
        "adapter": row["adapter"] or "unknown",
        "engine": row["engine"] or "unknown",
        "time": duration(time_of(row)) + (" a step" if row["kind"] == "train" else ""),
        **_facts(row, report, judged),
        "files": f"{len(kept.texts)} shader files",
    }
    for name, text in facts.items():
        console.print(f"{name:>8}  {text}")
    if row["kind"] not in NOT_REPEATED:
        console.print(f"{'':>8}  fa2 repro {row['run'][:8]} packs it up")


def _output(output: Mapping[str, Any]) -> str:
    """What was found of one output; a golden check counts nothing but what is wrong."""
    found = f"worst {ratio(output['worst_ratio'])}, {output['bad']}"
    if "total" not in output:
        return f"{found} over the tolerance"
    return f"{found} of {output['total']} over the limit, NaN {output['nan']}, inf {output['inf']}"


def _facts(row: Row, report: Mapping[str, Any], judged: Mapping[str, Any]) -> dict[str, str]:
    """What one kind has to tell and another has not."""
    if row["kind"] == "train":
        return _of_training(row, report)
    shader = {"shader": row["shader_sha256"] or "none"}
    if row["kind"] == "golden":
        return shader
    return shader | {
        "edited": ", ".join(judged.get("edited", ())) or "nothing",
        "outputs": "kept" if row["kept_bytes"] else "not kept, only their digests",
    }


def _of_training(row: Row, report: Mapping[str, Any]) -> dict[str, str]:
    config = report["config"]
    return {
        "preset": f"{report['preset']}: {config['layers']} blocks, C {config['C']}, context "
        f"{config['T']}, batch {config['B']}, {config['H']} heads of {config['D']}",
        "gate": f"{report['gate']}, seed {report['seed']}",
        "steps": f"{row['steps']} of {report['steps']}, last loss {loss(row['loss'])}",
        "kernels": ", ".join(report["kernels"]) or "none",
    }


def trained(row: Row) -> str:
    """What a line says of a training, behind its case; "" for everything else."""
    if row["steps"] is None:
        return ""
    return f"  {row['steps']} step{'s' * (row['steps'] != 1)}, loss {loss(row['loss'])}"


def loss(value: float | None) -> str:
    """NULL is a loss that is no number, or that there was none."""
    return "–" if value is None else f"{value:.4f}"


def when(row: Row) -> str:
    """Local time, to the second."""
    return datetime.fromtimestamp(row["finished"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def status(row: Row) -> Text:
    word = row["status"].upper()
    return Text(word, COLOURS.get(word, "green"))


def kernel(row: Row) -> str:
    edited = f" ({row['edited']} edited)" if row["edited"] else ""
    return f"{row['own'] or row['kernel']}{edited}"


def time_of(row: Row) -> float | None:
    """The best time there is: of a benchmark or a training's step, of the GPU, of the page."""
    times: list[float | None] = [row[name] for name in ("median_ns", "gpu_ns", "elapsed_ns")]
    return next((ns for ns in times if ns), None)


def ratio(value: float | str | None) -> str:
    return "–" if value is None else value if isinstance(value, str) else f"{value:.3g}"


def duration(ns: float | None) -> str:
    """
    >>> duration(1_250_000.0)
    '1.25 ms'
    """
    if ns is None:
        return "–"
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"
