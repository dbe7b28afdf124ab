"""A machine to tune whose times are a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.bench_report import BenchReport
from server.bench_timing import Quantiles, Timing
from server.cases import Case
from server.report import Report
from server.tune_search import Found, search

CASE = Case.parse("forward:T=256,H=4,D=64")
SHIPPED = {"plain": {"TX": 4, "TY": 8}, "wide": {"N": 16, "FAST": False}}


class Machine:
    """Kernels `plain` (auto takes it) and `wide`; a time for each tile, by a formula."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def ns(self, kernel: str, tile: Mapping[str, Any]) -> float:
        if kernel == "plain":
            return 1e6 * (1 + abs(tile["TX"] - 16) + abs(tile["TY"] - 4))
        return 1e5 * (20 + abs(tile["N"] - 64) - 10 * tile["FAST"])

    def refuses(self, kernel: str, tile: Mapping[str, Any]) -> str:
        return ""

    def measure(self, case: Case, tuned: Mapping[str, Any]) -> BenchReport:
        kernel = "plain" if case.kernel == "auto" else case.kernel
        tile = tuned["kernels"].get(kernel, [SHIPPED[kernel]])[0]
        self.calls.append((kernel, tile))
        status = self.refuses(kernel, tile)
        unfit = status == "unfit"  # the plan passes it over, and the clock happens to be kind
        if unfit:
            tile, status = SHIPPED[kernel], ""
        passes = ({"kernel": kernel, "tile": tile, "roles": {}},)
        ns = Quantiles(*[self.ns(kernel, tile) / (100 if unfit else 1)] * 3)
        timing = Timing(
            clock="gpu", samples=30, calls=1, ns=ns, wall=None, resolution_ns=1.0, flops=1.0,
            size_bytes=1, peak="f32", peak_tflops=None, clock_check=None,
        )  # fmt: skip
        return BenchReport(
            case=str(case),
            kernel=kernel,
            status=status or "timed",
            message="o: wrong\nmore",
            report=Report(case=str(case), kernel=kernel, status="pass", message="", passes=passes),
            timing=None if status else timing,
        )


def found(machine: Machine, kernels: tuple[str, ...] = ("plain",), rounds: int = 5) -> Found:
    result = search(CASE, kernels, machine.measure, rounds)
    assert isinstance(result, Found), result
    return result
