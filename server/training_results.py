"""The trainings of one command: exit code, JSON file, and what a benchmark compares."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.atomic import write_text
from server.errors import DeviceLost, NoAdapter, Timeout
from server.report import jsonable
from server.results import ENDED, FAILED, INTERRUPTED, NOTHING_RAN, OK, USAGE
from server.training_report import TrainingReport

AGREE = 1e-3
"""Relative difference of losses that two right attentions stay far below: float32 rounds."""


@dataclass
class TrainingResults:
    """Reports in the order they came."""

    environment: dict[str, Any] = field(default_factory=dict)
    reports: list[TrainingReport] = field(default_factory=list)
    interrupted: bool = False

    def step_ns(self, attention: str) -> float | None:
        """Time of a step with this attention, the mean if there were several; None if none ran."""
        for report in self.reports:
            if report.spec.attention == attention and report.ok:
                return sum(report.elapsed_ns) / len(report.elapsed_ns)
        return None

    @property
    def speedup(self) -> float | None:
        """How many times as fast a step is with FA2 as with the baseline; None unless both ran."""
        baseline, fa2 = self.step_ns("baseline"), self.step_ns("fa2")
        return baseline / fa2 if baseline and fa2 else None

    @property
    def disagreement(self) -> str:
        """Two attentions whose losses differ: one of them is wrong. "" if there is none."""
        done = [report for report in self.reports if report.ok]
        for other in done[1:]:
            pairs = zip(done[0].losses, other.losses, strict=False)
            for step, (a, b) in enumerate(pairs, start=1):
                if abs(a - b) > AGREE * abs(a):
                    names = done[0].spec.attention, other.spec.attention
                    return (
                        f"step {step} has the loss {a:.6f} with {names[0]} and {b:.6f} with "
                        f"{names[1]}: they may differ by {100 * AGREE:g} %"
                    )
        return ""

    def exit_code(self) -> int:
        """130 interrupted, 4 timeout or device lost, 3 no adapter or nothing ran, 1 a failure,
        2 refused by name.
        """
        if self.interrupted:
            return INTERRUPTED
        kinds = {report.error.kind for report in self.reports if report.error is not None}
        statuses = {report.status for report in self.reports}
        if kinds & {Timeout.kind, DeviceLost.kind}:
            return ENDED
        if NoAdapter.kind in kinds or not statuses:
            return NOTHING_RAN
        if statuses & {"fail", "error"} or self.disagreement:
            return FAILED
        return USAGE if "skip" in statuses else OK

    def to_dict(self) -> dict[str, Any]:
        return {
            "adapter": jsonable(self.environment.get("adapter")),
            "engine": self.environment.get("engine"),
            "interrupted": self.interrupted,
            "speedup": self.speedup,
            "results": [report.to_dict() for report in self.reports],
        }

    def write_json(self, path: Path) -> None:
        """Raises OSError."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(path, text + "\n")
