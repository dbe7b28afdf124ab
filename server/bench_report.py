"""What a benchmark gives: the verdict on the case, and its times where the verdict is ``pass``.

Statuses: ``timed``; ``fail`` and ``vacuous`` (the judge's verdict: not timed); ``error`` (page,
device, timeout, compile) and ``skip`` (refused by name).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from server.bench_timing import NOT_TIMED, BenchDone, Peaks, Timing, timing_of
from server.cases import Case
from server.errors import Unsupported
from server.report import Report, RunError, jsonable


@dataclass(frozen=True, kw_only=True)
class BenchReport:
    """The outcome of one benchmark."""

    case: str
    kernel: str
    status: str
    message: str
    report: Report | None = None  # of the check; None: it was called off before there was one
    timing: Timing | None = None
    peaks: Peaks | None = None
    adapter: Mapping[str, Any] | None = None
    engine: str = ""
    error: RunError | None = None
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status == "timed"

    def to_dict(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "kernel": self.kernel,
            "status": self.status,
            "message": self.message,
            **(NOT_TIMED if self.timing is None else self.timing.to_dict()),
            "peaks": self.peaks and dataclasses.asdict(self.peaks),
            "adapter": jsonable(self.adapter),
            "engine": self.engine,
            "warnings": list(self.warnings),
            "error": self.error and dataclasses.asdict(self.error),
            "report": self.report and self.report.to_dict(),
        }


def not_timed(case: Case, report: Report) -> BenchReport:
    """The report on a case that the judge did not pass."""
    return BenchReport(
        case=str(case),
        kernel=report.kernel,
        status=report.status,
        message=report.message,
        report=report,
        adapter=report.adapter,
        engine=report.engine,
        error=report.error,
        warnings=report.asides,
    )


def failed(
    case: Case, report: Report | None, error: RunError, done: BenchDone | None = None
) -> BenchReport:
    """The report on a case that could not be timed, or not be judged either."""
    return BenchReport(
        case=str(case),
        kernel=(done and done.kernel) or (report.kernel if report else case.kernel),
        status="skip" if error.kind == Unsupported.kind else "error",
        message=error.message or "no reason was given",
        report=report,
        peaks=done.peaks if done else None,
        adapter=(done and done.adapter) or (report.adapter if report else None),
        engine=(done and done.engine) or (report.engine if report else ""),
        error=error,
        warnings=report.asides if report else (),
    )


def timed(case: Case, report: Report, done: BenchDone, samples: int) -> BenchReport:
    """The report on a case that passed the judge and that the page has timed."""
    if done.error is not None:
        return failed(case, report, done.error, done)
    if (done.kernel, done.shader_sha256) != (report.kernel, report.shader_sha256):
        message = (
            f"the page timed {done.kernel} (shader {(done.shader_sha256 or 'none')[:12]}), but "
            f"{report.kernel} (shader {report.shader_sha256[:12]}) is what was judged"
        )
        return failed(case, report, RunError("page", message), done)
    if len(done.samples) < samples:
        message = f"{samples} samples were asked for, the page sent {len(done.samples)}"
        return failed(case, report, RunError("page", message), done)
    timing = timing_of(case, done)
    return BenchReport(
        case=str(case),
        kernel=report.kernel,
        status="timed",
        message=_message(timing),
        report=report,
        timing=timing,
        peaks=done.peaks,
        adapter=done.adapter,
        engine=done.engine or "",
        warnings=(*report.asides, *_warnings(timing, done)),
    )


def _message(timing: Timing) -> str:
    if timing.ns is None:
        return f"below the resolution of {timing.resolution_ns or 0:g} ns"
    return f"{timing.ns.median / 1e6:.4g} ms by the {timing.clock} clock"


def _warnings(timing: Timing, done: BenchDone) -> list[str]:
    said = []
    check = timing.clock_check
    if check is not None and not check.stable:
        said.append(
            f"the GPU's clock was never steady: a known kernel took {check.ns:.0f} ns beside the "
            f"samples and {check.best_ns:.0f} ns at best, its middle values "
            f"{100 * check.spread:.3g} % apart"
        )
    if timing.clock == "wall":
        said.append("no timestamp queries here: wall time of queued calls instead of GPU time")
    elif not done.wall_ns:
        said.append("no wall time: this browser answers waits too late to measure it")
    return said
