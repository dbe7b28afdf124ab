"""A training as the history keeps it: one row with its last loss, its report with all of them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from server.gates import DRIFT_ALLOWED, OVERFIT_BELOW
from server.history_entry import Entry, worst_of
from server.training import Training
from server.training_report import TrainingReport, spec_dict

ALLOWED = {"drift": DRIFT_ALLOWED, "overfit": OVERFIT_BELOW}
"""What the gates hold ``worst`` against, so that above 1 fails here as everywhere."""


@dataclass(frozen=True, kw_only=True)
class TrainingEntry(Entry):
    training: Training
    judged: TrainingReport

    @classmethod
    def of(cls, training: Training, report: TrainingReport) -> TrainingEntry:
        return cls(
            id=training.id,
            kind="train",
            case=report.spec.case_id,
            status=report.status,
            message=report.message,
            engine=report.engine,
            adapter=report.adapter,
            texts=dict(training.shaders),
            training=training,
            judged=report,
        )

    def columns(self) -> dict[str, Any]:
        report = self.judged
        allowed = ALLOWED.get(report.spec.gate)
        judged = [] if allowed is None or report.worst is None else [report.worst / allowed]
        times = report.elapsed_ns[1:] or report.elapsed_ns  # the first pays for what happens once
        return {
            "kernel": report.spec.attention,
            "worst": worst_of(judged),
            "elapsed_ns": sum(report.elapsed_ns) or None,
            "median_ns": statistics.median(times) if times else None,
            "steps": len(report.losses),
            "loss": report.losses[-1] if report.losses else None,
            "edited": len(self.texts),
        }

    def report(self) -> dict[str, Any]:
        return {**self.judged.to_dict(), "adapter": None}

    def request(self) -> dict[str, Any]:
        adapter = self.adapter or {}
        return {
            **spec_dict(self.judged.spec),
            "deadline_s": self.training.deadline_s,
            "limit_s": self.training.limit_s,
            "without": list(adapter.get("withheld", ())),
        }
