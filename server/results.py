"""The reports of one command, counted: exit code, JSON file, what to remember."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.atomic import write_text
from server.errors import DeviceLost, ManifestError, NoAdapter, Timeout
from server.report import Report, jsonable
from server.selection import Selected

OK, FAILED, USAGE, NOTHING_RAN, ENDED, INTERRUPTED = 0, 1, 2, 3, 4, 130
STATUSES = ("pass", "fail", "vacuous", "error", "skip")


@dataclass
class Results:
    """Reports in the order they came, each with the case that was selected."""

    environment: dict[str, Any] = field(default_factory=dict)
    entries: list[tuple[Selected, Report]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False

    def add(self, selected: Selected, report: Report) -> None:
        self.entries.append((selected, report))

    @property
    def reports(self) -> Sequence[Report]:
        return [report for _, report in self.entries]

    @property
    def counts(self) -> dict[str, int]:
        """How many cases ended in each status."""
        counted = Counter(report.status for report in self.reports)
        return {status: counted[status] for status in STATUSES}

    @property
    def refused(self) -> int:
        """How many cases that were named on the command line the library refuses."""
        return sum(one.named and report.status == "skip" for one, report in self.entries)

    @property
    def failed(self) -> list[str]:
        """Ids of the cases that are to be run again."""
        return [r.case for r in self.reports if r.status in ("fail", "vacuous", "error")]

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def worst(self) -> tuple[float, str, str] | None:
        """``(|error|/allowed, output, case)``, the largest of all checked outputs."""
        ratios = [
            (output.worst_ratio, name, report.case)
            for report in self.reports
            for name, output in report.outputs.items()
        ]
        return max(ratios, default=None)

    def exit_code(self) -> int:
        """The worst that happened: 4, 3, 1, then 2 for a refused case that was named."""
        if self.interrupted:
            return INTERRUPTED
        bad = [r for r in self.reports if r.status in ("fail", "vacuous", "error")]
        kinds = {report.error.kind for report in self.reports if report.error is not None}
        if kinds & {Timeout.kind, DeviceLost.kind}:
            return ENDED
        dispatched = any(report.status in ("pass", "fail", "vacuous") for report in self.reports)
        if NoAdapter.kind in kinds or not (self.failed or dispatched or self.refused):
            return NOTHING_RAN
        # What is wrong in a manifest is a mistake in the request, not in a kernel.
        mistaken = ManifestError.kind in kinds
        if any(report.error is None or report.error.kind != ManifestError.kind for report in bad):
            return FAILED
        return USAGE if self.refused or mistaken else OK

    def to_dict(self) -> dict[str, Any]:
        return {
            "adapter": jsonable(self.environment.get("adapter")),
            "engine": self.environment.get("engine"),
            "counts": self.counts,
            "interrupted": self.interrupted,
            "results": [report.to_dict() for report in self.reports],
        }

    def write_json(self, path: Path) -> None:
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(path, text + "\n")
