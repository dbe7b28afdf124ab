"""One benchmark: a case on its way from a request over the judge to its times."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from server.bench_report import BenchReport
from server.report import Report
from server.run import Run
from server.task import QUEUED, Task

CHECKING = "checking"
"""The state before QUEUED: the run that is judged first is on its way."""


@dataclass(eq=False)
class Bench(Task[BenchReport]):
    """``deadline_s``: for each sign of life of the page."""

    run: Run  # the check; the page that did it does the timing too
    samples: int
    own: dict[str, Any] | None = None  # the run may let go of its texts meanwhile
    state: str = field(default=CHECKING, kw_only=True)
    check: Report | None = None

    @property
    def title(self) -> str:
        return f"timing of {self.run.case}"

    @property
    def late(self) -> str:
        return (
            f"the page gave no sign of life within {self.deadline_s:g} s{self.reached}; "
            "a larger --timeout allows more, if the kernel does end"
        )

    def checked(self, report: Report) -> None:
        """The case is right: it waits to be timed, on the page that it was right on."""
        self.check, self.page = report, self.run.sent_to
        self.state, self.created = QUEUED, datetime.now(UTC)

    def event(self) -> tuple[str, dict[str, Any]]:
        job = self.run.job()
        kept = ("case", "spec", "kernel", "want", "tuned")
        return "bench", {
            "bench": self.id,
            **{name: job[name] for name in kept},
            "samples": self.samples,
            "deadline_ms": round(self.deadline_s * 1000),
            "shaders": self.shaders,
            "own": self.own,
        }

    def alive(self, progress: dict[str, Any]) -> None:
        """The page is further than it was: its time begins anew. A page that only repeats where
        it is hangs.
        """
        if progress != self.progress:
            self.progress, self.sent_at = progress, time.monotonic()

    def settle(self, report: BenchReport) -> None:
        self.shaders, self.own = {}, None
        super().settle(report)

    def summary(self) -> dict[str, Any]:
        """What a list says of it."""
        return {
            "bench": self.id,
            "run": self.run.id,
            "case": str(self.run.case),
            "state": self.state,
            "page": self.sent_to or self.page or self.run.sent_to or self.run.page,
            "created": self.created.isoformat(timespec="milliseconds"),
            "wanted_samples": self.samples,
            "progress": self.progress,
        }

    def to_dict(self) -> dict[str, Any]:
        """How far it is, and the report once there is one."""
        found = {**self.summary(), "status": None, "message": None}
        return {**found, **self.report.to_dict()} if self.report else found
