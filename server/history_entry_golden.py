"""A golden check as the history keeps it: its verdict and its errors.

Not its arrays: the inputs and the expected values lie in the set's own files.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from server.golden_outcome import Outcome
from server.history_entry import Entry, worst_of

STATUSES = {"refused": "skip"}  # what a golden outcome calls otherwise than a report does


@dataclass(frozen=True, kw_only=True)
class GoldenEntry(Entry):
    outcome: Outcome
    kernel: str  # asked for; the outcome names the one that ran

    @classmethod
    def of(cls, outcome: Outcome, kernel: str, environment: Mapping[str, Any]) -> GoldenEntry:
        """``environment``: the harness's, with adapter and engine."""
        return cls(
            id=secrets.token_hex(8),
            kind="golden",
            case=f"golden:{outcome.case}",
            status=STATUSES.get(outcome.status, outcome.status),
            message=outcome.message,
            engine=environment.get("engine") or "",
            adapter=environment.get("adapter"),
            outcome=outcome,
            kernel=kernel,
        )

    def columns(self) -> dict[str, Any]:
        outcome = self.outcome
        return {
            "kernel": outcome.kernel or self.kernel,
            "worst": worst_of(check.ratio for check in outcome.checks.values()),
            "bad": sum(check.bad for check in outcome.checks.values()),
            "elapsed_ns": outcome.elapsed_ns,
            "gpu_ns": outcome.gpu_ns,
            "shader_sha256": outcome.shader_sha256,
        }

    def report(self) -> dict[str, Any]:
        return {**self.outcome.to_dict(), "status": self.status, "engine": self.engine}

    def request(self) -> dict[str, Any]:
        adapter = self.adapter or {}
        return {
            "case": self.outcome.case,
            "kernel": self.kernel,
            "without": list(adapter.get("withheld", ())),
        }
