"""One training: a model on its way from a request to a verdict."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from server.report import jsonable
from server.task import Task
from server.training_report import Curves, TrainingDone, TrainingReport, spec_dict
from server.training_spec import TrainingSpec


@dataclass(eq=False)
class Training(Task[TrainingReport]):
    """The lists of losses, which only grow, may be read from any thread.

    ``deadline_s`` is for one step; the first one's counts from being sent.
    """

    spec: TrainingSpec
    limit_s: float  # what all steps may take by the adapter's measured speed
    measures: bool  # the page has to measure that speed first
    losses: list[float] = field(default_factory=list)
    elapsed_ns: list[float] = field(default_factory=list)
    twin: list[float] = field(default_factory=list)
    done: TrainingDone | None = None
    on_given: Callable[[], None] = lambda: None

    @property
    def title(self) -> str:
        return f"training of {self.spec.preset}"

    @property
    def curves(self) -> Curves:
        return Curves(self.losses, self.twin, self.elapsed_ns)

    @property
    def late(self) -> str:
        return (
            f"the page sent no step within {self.deadline_s:g} s{self.reached}; "
            "a larger --timeout allows more, if the step does end"
        )

    @property
    def reached(self) -> str:
        at = f"after {len(self.losses)} of {self.spec.steps} steps"
        return f" ({at}; {self.at})" if self.at else f" ({at})"

    def give(self, page: str) -> None:
        super().give(page)
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
        super().settle(report)

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
