"""The outcomes of `fa2 golden`, counted: exit code and JSON file."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.atomic import write_text
from server.errors import DeviceLost, Timeout
from server.golden_outcome import Outcome
from server.report import jsonable
from server.results import ENDED, FAILED, INTERRUPTED, OK

STATUSES = ("pass", "fail", "error", "refused")


@dataclass
class GoldenResults:
    """Outcomes in the order they came."""

    environment: dict[str, Any] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many cases ended in each status."""
        counted = Counter(outcome.status for outcome in self.outcomes)
        return {status: counted[status] for status in STATUSES}

    @property
    def refused(self) -> dict[str, int]:
        """How many cases were refused for each reason, the most frequent first."""
        reasons = Counter(one.reason for one in self.outcomes if one.status == "refused")
        return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def worst(self) -> tuple[float, str, str] | None:
        """``(|error|/tolerance, output, case)``, the largest of all that was judged."""
        ratios = [
            (check.ratio, name, outcome.case)
            for outcome in self.outcomes
            for name, check in outcome.checks.items()
        ]
        return max(ratios, default=None)

    def exit_code(self) -> int:
        """130 interrupted, 4 a deadline or a lost device, 1 a failure or nothing judged, else 0."""
        if self.interrupted:
            return INTERRUPTED
        counts = self.counts
        kinds = {outcome.reason for outcome in self.outcomes if outcome.status == "error"}
        if kinds & {Timeout.kind, DeviceLost.kind}:
            return ENDED
        return FAILED if counts["fail"] or counts["error"] or not counts["pass"] else OK

    def to_dict(self) -> dict[str, Any]:
        return {
            "adapter": jsonable(self.environment.get("adapter")),
            "engine": self.environment.get("engine"),
            "counts": self.counts,
            "refused": self.refused,
            "interrupted": self.interrupted,
            "results": [outcome.to_dict() for outcome in self.outcomes],
        }

    def write_json(self, path: Path) -> None:
        """Raises OSError."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(path, text + "\n")
