"""One training: a model on its way from a request to a verdict."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from server.dispatch import QUEUED, SENT
from server.report import jsonable
from server.training_report import Curves, TrainingDone, TrainingReport, spec_dict
from server.training_spec import TrainingSpec


@dataclass(eq=False)
class Training:
    """Changed by the loop's thread only; ``future`` may be awaited from any, and the lists of
    losses, which only grow, may be read from any.
    """

    spec: TrainingSpec
    page: str | None  # the page that is to do it; None: any
    deadline_s: float  # for one step; the first one's counts from being sent
    limit_s: float  # what all steps may take by the adapter's measured speed
    measures: bool  # the page has to measure that speed first
    shaders: dict[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    future: Future[TrainingReport] = field(default_factory=Future)
    state: str = QUEUED
    sent_to: str | None = None
    sent_at: float = 0.0  # monotonic; moved on by every step
    heard: bool = False
    progress: dict[str, Any] | None = None
    losses: list[float] = field(default_factory=list)
    elapsed_ns: list[float] = field(default_factory=list)
    twin: list[float] = field(default_factory=list)
    done: TrainingDone | None = None
    report: TrainingReport | None = None
    on_given: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        # From now on nobody outside can cancel the future behind the store's back.
        self.future.set_running_or_notify_cancel()

    @property
    def finished(self) -> bool:
        return self.report is not None

    @property
    def title(self) -> str:
        return f"training of {self.spec.preset}"

    @property
    def curves(self) -> Curves:
        return Curves(self.losses, self.twin, self.elapsed_ns)

    @property
    def overdue_s(self) -> float:
        if self.state != SENT:
            return -1.0
        return time.monotonic() - self.sent_at - self.deadline_s

    @property
    def late(self) -> str:
        return (
            f"the page sent no step within {self.deadline_s:g} s{self.reached}; "
            "a larger --timeout allows more, if the step does end"
        )

    @property
    def reached(self) -> str:
        at = f"after {len(self.losses)} of {self.spec.steps} steps"
        if not self.progress:
            return f" ({at})"
        done, total = self.progress["done"], self.progress["total"]
        return f" ({at}; it was at: {self.progress['phase']}, {done:g} of {total:g})"

    def give(self, page: str) -> None:
        self.state, self.sent_to, self.sent_at = SENT, page, time.monotonic()
        self.on_given()

    def event(self) -> tuple[str, dict[str, Any]]:
        spec = self.spec
        return "train", {
            "training": self.id,
            **spec_dict(spec),
            "one_batch": spec.one_batch,
            "deadline_ms": round(self.deadline_s * 1000),
            "limit_ms": round(self.limit_s * 1000),
            "measure": self.measures,
            "shaders": self.shaders,
        }

    def took(self, losses: list[float], elapsed_ns: list[float]) -> None:
        """More steps of the page; the time for the next one begins."""
        self.elapsed_ns += elapsed_ns
        self.losses += losses
        self.sent_at = time.monotonic()
        self.progress = None

    def settle(self, report: TrainingReport) -> None:
        self.shaders = {}
        self.report, self.state = report, report.status
        self.future.set_result(report)

    def summary(self) -> dict[str, Any]:
        """What a list says of it."""
        return {
            "training": self.id,
            **spec_dict(self.spec),
            "state": self.state,
            "page": self.sent_to or self.page,
            "created": self.created.isoformat(timespec="milliseconds"),
            "steps_done": len(self.losses),
            "message": self.report.message if self.report else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """How far it is, and the report once there is one."""
        found = {
            **self.summary(),
            "progress": self.progress,
            **{name: jsonable(values) for name, values in dataclasses.asdict(self.curves).items()},
        }
        return {**found, **self.report.to_dict()} if self.report else found
