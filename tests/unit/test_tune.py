"""The search for faster tiles, on a machine whose times are a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from server.bench_report import BenchReport
from server.bench_timing import Quantiles, Timing
from server.cases import Case
from server.report import Report
from server.tune import default_cases, ranges, table
from server.tune_search import Found, neighbours, search

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
        if status == "unfit":
            tile, status = SHIPPED[kernel], ""
        passes = ({"kernel": kernel, "tile": tile, "roles": {}},)
        ns = Quantiles(*[self.ns(kernel, tile)] * 3)
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


def test_the_search_ends_at_the_fastest_tile_and_tries_none_twice() -> None:
    machine = Machine()
    best = found(machine)
    assert best.tiles == {"plain": {"TX": 16, "TY": 4}}
    assert (best.before_ns, best.after_ns, best.clock) == (17e6, 1e6, "gpu")
    assert best.improved
    assert best.tried == len(machine.calls) == len({repr(call) for call in machine.calls})


def test_a_faster_kernel_is_taken_and_its_own_tile_searched() -> None:
    best = found(Machine(), ("plain", "wide"))
    assert (best.kernel, best.kernel_before) == ("wide", "plain")
    assert best.tiles == {"wide": {"N": 64, "FAST": True}}


def test_what_is_no_better_than_noise_changes_nothing() -> None:
    class Flat(Machine):
        def ns(self, kernel: str, tile: Mapping[str, Any]) -> float:
            return 1e6 * (1 if tile == SHIPPED[kernel] else 0.98)

    best = found(Flat(), ("plain", "wide"))
    assert not best.improved
    assert best.after_ns == best.before_ns
    assert table([best], {}, "E")["kernels"] == {}


@pytest.mark.parametrize("status", ["fail", "vacuous", "error", "skip", "unfit"])
def test_what_is_wrong_refused_or_does_not_fit_is_never_taken(status: str) -> None:
    class Picky(Machine):
        def refuses(self, kernel: str, tile: Mapping[str, Any]) -> str:
            return status if tile["TX"] >= 16 else ""

    best = found(Picky())
    assert best.tiles == {"plain": {"TX": 8, "TY": 4}}
    assert bool(best.wrong) == (status in ("fail", "vacuous"))
    assert (best.refused > 0) == (status in ("error", "skip"))
    if best.wrong:
        assert best.wrong[0].endswith("'TY': 4}}: o: wrong"), best.wrong


def test_a_case_that_cannot_be_timed_is_told_and_nothing_else_tried() -> None:
    class Broken(Machine):
        def refuses(self, kernel: str, tile: Mapping[str, Any]) -> str:
            return "error"

    machine = Broken()
    told = search(CASE, ("plain", "wide"), machine.measure)
    assert told == f"{CASE} could not be timed as it is"
    assert len(machine.calls) == 1


def test_neighbours_differ_by_a_factor_of_two_a_flag_or_the_shape() -> None:
    assert list(neighbours({"TX": 1, "TY": 512, "FAST": True})) == [
        {"TX": 2, "TY": 512, "FAST": True},
        {"TX": 1, "TY": 256, "FAST": True},
        {"TX": 1, "TY": 512, "FAST": False},
        {"TX": 2, "TY": 256, "FAST": True},
    ]
    assert {"N": 3} not in list(neighbours({"N": 7}))


def test_rows_of_a_table_cover_every_length_once() -> None:
    cases = [Case.parse(f"forward:T={T},D=64") for T in (4096, 64, 512)]
    rows = [ranges(case, [*cases, Case.parse("forward:T=100,D=64,causal=0")]) for case in cases]
    by_length = {
        length: [n for n, row in enumerate(rows)
                 if row.get("minT", 0) <= length <= row.get("maxT", 10**9)]
        for length in (1, 64, 181, 182, 512, 1448, 1449, 4096, 99999)
    }  # fmt: skip
    assert by_length == {
        1: [1], 64: [1], 181: [1], 182: [2], 512: [2], 1448: [2], 1449: [0], 4096: [0],
        99999: [0],
    }  # fmt: skip


def test_a_table_holds_the_tiles_the_kernel_preferred_and_the_figures() -> None:
    best = found(Machine(), ("plain", "wide"))
    made = table([best], {"vendor": "v", "limits": {"a": 1}}, "Fake 1")
    conditions = {"minD": 33, "maxD": 64, "dtype": ["f32"], "causal": True}
    why = f"{CASE}: 1 ms, 17 ms before, gpu time"
    assert made["kernels"] == {"wide": [{**conditions, "N": 64, "FAST": True, "why": why}]}
    assert made["choices"] == [{"op": "forward", **conditions, "kernel": "wide", "why": why}]
    assert made["adapter"] == {"vendor": "v", "architecture": "", "device": "", "description": ""}
    assert made["measured"][0]["tried"] == best.tried


def test_default_cases_are_small_on_a_cpu() -> None:
    assert max(case.Tq for case in default_cases(software=True)) == 256
    assert {case.op for case in default_cases(software=False)} == {"forward", "backward"}
