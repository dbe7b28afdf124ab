"""The cases of one `fa2 tune`: what was found, what could not be timed, the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field

from server.bench_report import BenchReport
from server.errors import DeviceLost, NoAdapter, Timeout
from server.results import ENDED, FAILED, INTERRUPTED, NOTHING_RAN, OK, USAGE
from server.tune_search import Found


@dataclass
class TuneResults:
    """In the order they came; ``named``: cases that the command line names."""

    named: set[str] = field(default_factory=set)
    found: list[Found] = field(default_factory=list)
    not_timed: list[BenchReport] = field(default_factory=list)  # as they are, before any search
    interrupted: bool = False

    def add(self, result: Found | BenchReport) -> None:
        if isinstance(result, Found):
            self.found.append(result)
        else:
            self.not_timed.append(result)

    def exit_code(self) -> int:
        """130 interrupted, 4 timeout or device lost, 3 no adapter or nothing was timed, 1 a case
        that is not right or, if it was named, too short for the clock, 2 a named one that is
        refused.
        """
        if self.interrupted:
            return INTERRUPTED
        kinds = {report.error.kind for report in self.not_timed if report.error is not None}
        if kinds & {Timeout.kind, DeviceLost.kind}:
            return ENDED
        named = {report.status for report in self.not_timed if report.case in self.named}
        if {report.status for report in self.not_timed} & {"fail", "vacuous", "error"}:
            return NOTHING_RAN if NoAdapter.kind in kinds else FAILED
        if named:
            return FAILED if "timed" in named else USAGE
        return OK if self.found else NOTHING_RAN
