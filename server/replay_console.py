"""What `fa2 replay` prints: the verdict of there beside that of here."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from server.adapters import adapter_name
from server.console import COLOURS
from server.history_console import ratio
from server.replay import Replayed

HEADS = ("", "recorded", "here", "")


def print_replayed(console: Console, found: Replayed) -> None:
    """A table, the notes, the failure text, and the verdict last."""
    told, report = found.repro.told, found.report
    console.print(f"{found.repro.asked.case} · recorded {found.repro.asked.finished}")
    for note in found.notes:
        console.print(f"note: {note}")
    lines = [
        HEADS,
        ("verdict", told.status, report.status, "" if found.same_verdict else "differs"),
        ("kernel", told.kernel, report.kernel, ""),
        ("adapter", adapter_name(told.adapter), adapter_name(dict(report.adapter or {})), ""),
        ("engine", told.engine, report.engine, ""),
        ("inputs", told.input_sha256[:12], report.input_sha256[:12], _said(found.same_inputs)),
        ("shader", told.shader_sha256[:12], report.shader_sha256[:12], _said(found.same_shader)),
        *((one.name, ratio(one.recorded), ratio(one.here), one.said()) for one in found.outputs),
    ]
    _table(console, lines)
    if report.status != "pass":
        for line in report.message.splitlines():
            console.print(f"        {line}")
    word = report.status.upper()
    differs = "as recorded" if found.same_verdict else f"recorded was {told.status.upper()}"
    console.print(Text.assemble((word, f"bold {COLOURS[word]}"), f": {differs}"))


def _said(equal: bool | None) -> str:
    return "unknown" if equal is None else "equal" if equal else "not equal"


def _table(console: Console, lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        console.print("  ".join(cells).rstrip())
