"""`fa2 check --watch`: when a kernel's files are saved, and what that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from watchfiles import watch

from server.report import Report

QUIET_MS = 20  # an editor writes a file in several steps; what follows within this belongs to it
LONGEST_MS = 200


def saves(folders: Sequence[Path], names: Callable[[], set[str]]) -> Iterator[set[str]]:
    """The names of the files that were saved, each time some of ``names()`` were.

    Raises KeyboardInterrupt when Ctrl+C is pressed.
    """
    for changes in watch(
        *[folder.resolve() for folder in folders],
        step=QUIET_MS,
        debounce=LONGEST_MS,
        recursive=False,
        watch_filter=None,
    ):
        saved = {Path(path).name for _, path in changes} & names()
        if saved:
            yield saved


def side_by_side(before: Mapping[str, Report], now: Sequence[Report]) -> list[str]:
    """A line a case: the worst |error| / allowed of each output, before and now."""
    lines = []
    for report in now:
        old = before.get(report.case)
        if old is None or (old.status == report.status == "skip"):
            continue
        names = list(dict.fromkeys([*old.outputs, *report.outputs]))
        pairs = "  ".join(f"{n} {_worst(old, n)} → {_worst(report, n)}" for n in names)
        changed = "" if old.status == report.status else f"  {old.status} → {report.status}"
        lines.append(f"{report.case}  {pairs}{changed}".rstrip())
    return lines


def _worst(report: Report, name: str) -> str:
    output = report.outputs.get(name)
    return "–" if output is None else f"{output.worst_ratio:.3g}"
