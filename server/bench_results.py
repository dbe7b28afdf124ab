"""The benchmarks of one command: exit code and JSON file."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.atomic import write_text
from server.bench_report import BenchReport
from server.bench_spec import flops
from server.bench_timing import Peaks
from server.cases import Case
from server.errors import DeviceLost, NoAdapter, Timeout
from server.peers_report import PeerReport, nothing_compared
from server.report import jsonable
from server.results import ENDED, FAILED, INTERRUPTED, NOTHING_RAN, OK, USAGE

STATUSES = ("timed", "fail", "vacuous", "error", "skip")


@dataclass(frozen=True)
class LeftOut:
    """A case of a sweep that was not run."""

    case: Case
    reason: str


@dataclass
class BenchResults:
    """Reports in the order they came; ``named``: cases that the command line names."""

    environment: dict[str, Any] = field(default_factory=dict)
    reports: list[BenchReport] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    left_out: list[LeftOut] = field(default_factory=list)
    peers: list[PeerReport] = field(default_factory=list)
    interrupted: bool = False

    @property
    def software(self) -> bool:
        return bool((self.environment.get("adapter") or {}).get("fallback"))

    @property
    def peaks(self) -> Peaks | None:
        """Of the adapter, as measured last."""
        return next((one.peaks for one in reversed(self.reports) if one.peaks), None)

    @property
    def counts(self) -> dict[str, int]:
        counted = Counter(report.status for report in self.reports)
        return {status: counted[status] for status in STATUSES}

    def flops_per_s(self) -> float | None:
        """The speed of the case timed last, which that of a longer one is predicted by."""
        for report in reversed(self.reports):
            if report.timing is not None and report.timing.ns is not None:
                return flops(Case.parse(report.case)) / report.timing.ns.median * 1e9
        return None

    def exit_code(self) -> int:
        """130 interrupted, 4 timeout or device lost, 3 no adapter or nothing ran, 1 a case that is
        not right or could not be timed, or peers of which none could be compared, 2 one that is
        refused although it was named.
        """
        if self.interrupted:
            return INTERRUPTED
        kinds = {report.error.kind for report in self.reports if report.error is not None}
        if kinds & {Timeout.kind, DeviceLost.kind}:
            return ENDED
        counts = self.counts
        refused = any(one.status == "skip" and one.case in self.named for one in self.reports)
        failed = (
            counts["fail"] or counts["vacuous"] or counts["error"] or nothing_compared(self.peers)
        )
        if NoAdapter.kind in kinds or not (failed or counts["timed"] or refused):
            return NOTHING_RAN
        if failed:
            return FAILED
        return USAGE if refused else OK

    def to_dict(self) -> dict[str, Any]:
        return {
            "adapter": jsonable(self.environment.get("adapter")),
            "engine": self.environment.get("engine"),
            "software": self.software,
            "peaks": dataclasses.asdict(self.peaks) if self.peaks else None,
            "counts": self.counts,
            "interrupted": self.interrupted,
            "left_out": [{"case": str(one.case), "reason": one.reason} for one in self.left_out],
            "results": [report.to_dict() for report in self.reports],
            "peers": [jsonable(report.to_dict()) for report in self.peers],
        }

    def write_json(self, path: Path) -> None:
        """Raises OSError."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(path, text + "\n")
