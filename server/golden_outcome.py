"""What came of one golden case: the same on a terminal, as JSON and in the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from server.golden import Check
from server.report import jsonable


@dataclass(frozen=True)
class Outcome:
    """One case. ``reason``: the feature that a refused case needs, or the kind of an error."""

    case: str
    status: str
    reason: str = ""
    message: str = ""
    checks: Mapping[str, Check] = field(default_factory=dict)
    kernel: str = ""
    shader_sha256: str = ""
    elapsed_ns: float | None = None  # wall time on the page
    gpu_ns: float | None = None  # of the kernel alone, by timestamps
    warnings: tuple[str, ...] = ()  # of the page, on how the case was computed

    def to_dict(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "outputs": {
                name: {"worst_ratio": jsonable(one.ratio), "bad": one.bad, "problem": one.problem}
                for name, one in self.checks.items()
            },
            "kernel": self.kernel,
            "shader_sha256": self.shader_sha256,
            "elapsed_ns": self.elapsed_ns,
            "gpu_ns": self.gpu_ns,
            "warnings": list(self.warnings),
        }
