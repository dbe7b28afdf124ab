"""One benchmark: a case on its way from a request over the judge to its times."""

from __future__ import annotations

import secrets
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from server.bench_report import BenchReport
from server.dispatch import QUEUED, SENT
from server.report import Report
from server.run import Run

CHECKING = "checking"
"""The state before QUEUED: the run that is judged first is on its way."""


@dataclass(eq=False)
class Bench:
    """Changed by the loop's thread only; ``future`` may be awaited from any."""

    run: Run  # the check; the page that did it does the timing too
    samples: int
    deadline_s: float  # for each sign of life
    shaders: dict[str, str] = field(default_factory=dict)
    own: dict[str, Any] | None = None  # the run may let go of its texts meanwhile
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    future: Future[BenchReport] = field(default_factory=Future)
    state: str = CHECKING
    page: str | None = None
    sent_to: str | None = None
    sent_at: float = 0.0  # monotonic; moved on by every sign of life
    heard: bool = False
    progress: dict[str, Any] | None = None
    check: Report | None = None
    report: BenchReport | None = None

    def __post_init__(self) -> None:
        # From now on nobody outside can cancel the future behind the store's back.
        self.future.set_running_or_notify_cancel()

    @property
    def finished(self) -> bool:
        return self.report is not None

    @property
    def title(self) -> str:
        return f"timing of {self.run.case}"

    @property
    def overdue_s(self) -> float:
        if self.state != SENT:
            return -1.0
        return time.monotonic() - self.sent_at - self.deadline_s

    @property
    def late(self) -> str:
        return (
            f"the page gave no sign of life within {self.deadline_s:g} s{self.reached}; "
            "a larger --timeout allows more, if the kernel does end"
        )

    @property
    def reached(self) -> str:
        if not self.progress:
            return ""
        done, total = self.progress["done"], self.progress["total"]
        return f" (it was at: {self.progress['phase']}, {done:g} of {total:g})"

    def checked(self, report: Report) -> None:
        """The case is right: it waits to be timed, on the page that it was right on."""
        self.check, self.page = report, self.run.sent_to
        self.state, self.created = QUEUED, datetime.now(UTC)

    def give(self, page: str) -> None:
        self.state, self.sent_to, self.sent_at = SENT, page, time.monotonic()

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
        self.report, self.state = report, report.status
        self.future.set_result(report)

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
