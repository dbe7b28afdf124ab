"""Finished runs without a browser, for tests of the history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from server.cases import Case
from server.history import History
from server.history_limits import Limits
from server.history_writer import HistoryWriter
from server.outputs import outputs_of, want
from server.paths import STATIC
from server.report import OutputReport, Report
from server.run import Run
from server.verdict import Worst

CASE = "forward:T=8,H=2,D=4"
ADAPTER = {"vendor": "acme", "architecture": "one", "fallback": True, "withheld": ["shader-f16"]}


def report_of(case: str, status: str = "pass", ratio: float = 0.25, **fields: Any) -> Report:
    worst = Worst({"b": 0, "i": 1, "h": 0, "d": 2}, {"i": 0}, 1.5, 1.0, 0.25)
    bad = 3 if status == "fail" else 0
    told: dict[str, Any] = {
        "case": case,
        "kernel": "fa2_forward",
        "status": status,
        "message": f"it is a {status}",
        "outputs": {"o": OutputReport(ratio, worst, bad, 64, 0, 0)},
        "input_sha256": "1" * 64,
        "shader_sha256": "2" * 64,
        "adapter": ADAPTER,
        "engine": "NumPy",
        "elapsed_ns": 2e6,
    }
    return Report(**{**told, **fields})


def finished(
    case: str = CASE, status: str = "pass", *, shaders: dict[str, str] | None = None, **fields: Any
) -> tuple[Run, Report]:
    """A run with outputs of ones, and its report."""
    parsed = Case.parse(case)
    run = Run(
        case=parsed,
        page=None,
        kappa=4.0,
        deadline_s=1.0,
        want={spec.name: spec for spec in want(parsed)},
        shaders=dict(shaders or {}),
    )
    report = report_of(str(parsed), status, **fields)
    if shaders:
        report = report_of(str(parsed), status, edited=tuple(shaders), **fields)
    run.tensors = {spec.name: np.ones(spec.shape, spec.numpy) for spec in outputs_of(parsed)}
    run.report = report
    return run, report


def keep(path: Path, *runs: tuple[Run, Report], limits: Limits | None = None) -> History:
    """A history that has these runs, oldest first."""
    writer = HistoryWriter(path, origin="python", static=STATIC, limits=limits)
    for run, report in runs:
        writer.observe_run(run, report)
    writer.close(10)
    return History(path)
