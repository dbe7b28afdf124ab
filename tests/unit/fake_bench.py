"""A check that passed, and what a page that timed the case afterwards says."""

from __future__ import annotations

from typing import Any

from server.bench_timing import BenchDone
from server.cases import Case
from server.report import Report

CASE = Case.parse("forward:T=512,H=16,D=64")
SHADER = "5" * 64
CHECK = Report(
    case=str(CASE), kernel="fa2_forward", status="pass", message="", shader_sha256=SHADER
)
PEAKS = {"f32_tflops": 65.0, "copy_gbps": 3900.0, "f16_matrix_tflops": 540.0}


def done(**fields: Any) -> BenchDone:
    told: dict[str, Any] = {
        "status": "ok",
        "kernel": "fa2_forward",
        "shader_sha256": SHADER,
        "peaks": PEAKS,
        "gpu_ns": [40_000.0 + n for n in range(31)],
        "calls": 25,
        "resolution_ns": 32.0,
        "clock": {"stable": True, "ns": 31000.0, "best_ns": 30900.0, "spread": 0.002},
        "wall_ns": [50_000.0] * 10,
        "adapter": {"vendor": "v", "fallback": False},
        "engine": "Fake 1",
    }
    return BenchDone(**(told | fields))
