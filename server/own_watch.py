"""`fa2 check --watch`: when a kernel's files are saved, and what that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from watchfiles import watch

from server.errors import CaseError
from server.report import Report

QUIET_MS = 20  # an editor writes a file in several steps; what follows within this belongs to it
LONGEST_MS = 200
LOOK_MS = 500  # also without a notice: some file systems send none


def saves(folders: Sequence[Path], changed: Callable[[], set[str]]) -> Iterator[set[str]]:
    """What ``changed()`` says each time it says anything: asked after every save in the folders.

    It compares contents, so that what is saved while cases run is not missed, and what is saved as
    it was is no news. Raises KeyboardInterrupt when Ctrl+C is pressed, CaseError where files cannot
    be watched.
    """
    try:
        for _ in watch(
            *[folder.resolve() for folder in folders],
            step=QUIET_MS,
            debounce=LONGEST_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            recursive=False,
            watch_filter=None,
        ):
            if names := changed():
                yield names
    except (OSError, RuntimeError) as error:  # watchfiles raises both
        raise CaseError(
            f"--watch: the system does not tell of saves here ({error}); with "
            "WATCHFILES_FORCE_POLLING=1 in the environment files are looked at instead"
        ) from None


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
