"""A benchmark's report out of its JSON: the way back from ``BenchReport.to_dict``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.bench_report import BenchReport
from server.bench_spec import flops, size_bytes
from server.bench_timing import ClockCheck, Peaks, Quantiles, Timing
from server.cases import Case
from server.errors import PageError
from server.report import RunError
from server.report_read import read_report


def read_bench(found: Mapping[str, Any]) -> BenchReport:
    """The report that ``to_dict`` has written. Raises PageError when it is none."""
    try:
        peaks = Peaks(**found["peaks"]) if found["peaks"] else None
        return BenchReport(
            **{name: str(found[name]) for name in ("case", "kernel", "status", "message")},
            report=read_report(found["report"]) if found["report"] else None,
            timing=_timing(found, peaks) if found["status"] == "timed" else None,
            peaks=peaks,
            adapter=found["adapter"],
            engine=str(found["engine"]),
            error=RunError(**found["error"]) if found["error"] else None,
            warnings=tuple(found["warnings"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PageError(f"this is no benchmark: {type(error).__name__}: {error}") from None


def _timing(found: Mapping[str, Any], peaks: Peaks | None) -> Timing:
    case, peak = Case.parse(found["case"]), str(found["peak"])
    by_name = (
        {} if peaks is None else {"f32": peaks.f32_tflops, "f16_matrix": peaks.f16_matrix_tflops}
    )
    check = found["clock_check"]
    return Timing(
        clock=str(found["clock"]),
        samples=int(found["samples"]),
        calls=int(found["calls_per_sample"]),
        ns=_quantiles(found, ""),
        wall=_quantiles(found, "wall_"),
        resolution_ns=found["resolution_ns"],
        flops=flops(case),
        size_bytes=size_bytes(case),
        peak=peak,
        peak_tflops=by_name.get(peak),
        clock_check=ClockCheck(**check) if check else None,
    )


def _quantiles(found: Mapping[str, Any], clock: str) -> Quantiles | None:
    median = found["wall_ns" if clock else "median_ns"]
    if median is None:
        return None
    return Quantiles(median, found[f"{clock}p20_ns"], found[f"{clock}p80_ns"])
