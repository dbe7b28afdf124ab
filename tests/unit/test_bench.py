"""What is counted, the statistics of samples, and what a benchmark's report says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from fake_bench import CASE, CHECK, PEAKS, done

from server import bench_report
from server.attention_problem import Problem
from server.bench_report import BenchReport
from server.bench_spec import flops, predicted_s, series, size_bytes, visible_pairs
from server.bench_timing import NOT_TIMED, Quantiles
from server.cases import Case
from server.inputs import make_inputs
from server.judge import problem_of
from server.report import RunError


def timed(case: Case = CASE, **fields: object) -> BenchReport:
    return bench_report.timed(case, CHECK, done(**fields), samples=30)


@pytest.mark.parametrize(
    "keys",
    [
        "T=9",
        "T=9,causal=0",
        "Tq=5,Tk=9",
        "Tq=9,Tk=5",
        "Tq=9,Tk=1",
        "Tq=9,Tk=5,align=tl",
        "Tq=3,Tk=7,align=tl",
        "T=9,window=3:0",
        "T=9,causal=0,window=2:1",
        "Tq=4,Tk=9,causal=0,window=-1:2",
    ],
)
def test_visible_pairs_are_those_that_the_reference_looks_at(keys: str) -> None:
    case = Case.parse(f"forward:{keys},D=2")
    problem: Problem = problem_of(case, make_inputs(case))
    low, high = problem.key_range(np.arange(case.Tq))
    assert visible_pairs(case) == sum((high - low).clip(0))


def test_a_backward_counts_two_and_a_half_times_its_forward() -> None:
    assert flops(CASE) == 4 * 64 * 16 * (512 * 513 // 2)
    assert flops(CASE.replace(op="backward")) == 2.5 * flops(CASE)


def test_bytes_are_inputs_and_outputs_once_in_their_type() -> None:
    tensor, rows = 512 * 16 * 64, 512 * 16
    assert size_bytes(CASE) == 4 * (4 * tensor + rows)
    assert size_bytes(CASE.replace(op="backward")) == 4 * (8 * tensor + rows)
    assert size_bytes(CASE.replace(dtype="f16")) == 2 * 4 * tensor + 4 * rows
    narrow = CASE.replace(Hkv=4)
    assert size_bytes(narrow) == 4 * (2 * tensor + 2 * tensor // 4 + rows)


def test_a_sweep_grows_in_every_series_and_covers_both_head_sizes_types_and_directions() -> None:
    found = list(series())
    assert len(found) == 8
    for cases in found:
        assert [case.Tq for case in cases] == [512, 1024, 2048, 4096, 8192, 16384, 32768]
        assert len({(case.op, case.dtype, case.D) for case in cases}) == 1
    heads = {(case.B, case.H, case.Hkv, case.causal) for cases in found for case in cases}
    assert heads == {(1, 16, 16, True)}
    assert {case.kernel for cases in series("fa2") for case in cases} == {"fa2"}


def test_the_time_of_a_case_is_predicted_by_its_work() -> None:
    assert predicted_s(CASE, 30, flops(CASE)) == 40
    double = CASE.replace(Tq=1024, Tk=1024)
    ratio = predicted_s(double, 30, 1e9) / predicted_s(CASE, 30, 1e9)
    assert ratio == pytest.approx(4, rel=0.01)


def test_percentiles_lie_between_the_values_that_they_fall_between() -> None:
    assert Quantiles.of([5.0]) == Quantiles(5, 5, 5)
    assert Quantiles.of([4.0, 1.0, 3.0, 2.0]).median == 2.5


def test_samples_become_numbers_by_the_case_and_the_peak() -> None:
    report = timed()
    found = report.to_dict()
    assert (report.ok, report.status, found["clock"], found["samples"]) == (
        True,
        "timed",
        "gpu",
        31,
    )
    assert (found["median_ns"], found["p20_ns"], found["p80_ns"]) == (40_015, 40_006, 40_024)
    assert found["tflops"] == pytest.approx(flops(CASE) / 40_015e-9 / 1e12)
    assert found["gbps"] == pytest.approx(size_bytes(CASE) / 40_015)
    assert found["share_of_peak"] == pytest.approx(found["tflops"] / 65)
    assert (found["peak"], found["wall_ns"]) == ("f32", 50_000)
    assert found["report"]["status"] == "pass"
    assert found["clock_check"]["stable"]
    json.dumps(found, allow_nan=False)


def test_a_matrix_kernel_is_held_against_the_matrix_peak_where_there_is_one() -> None:
    assert timed(matrix=True).to_dict()["peak"] == "f16_matrix"
    without = timed(matrix=True, peaks={**PEAKS, "f16_matrix_tflops": None}).to_dict()
    assert without["peak"] == "f32"
    assert timed(peaks=None).to_dict()["share_of_peak"] is None


def test_wall_time_stands_in_only_where_the_gpu_has_no_clock_and_says_so() -> None:
    report = timed(gpu_ns=[], wall_ns=[50_000.0] * 30, resolution_ns=None, clock=None)
    assert report.to_dict()["clock"] == "wall"
    assert report.to_dict()["median_ns"] == 50_000
    assert "no timestamp queries" in report.warnings[0]
    assert "no wall time" in timed(wall_ns=[]).warnings[0]
    assert timed(wall_ns=[]).to_dict()["wall_ns"] is None


def test_what_the_timer_does_not_resolve_has_no_numbers_and_is_never_zero() -> None:
    for fields in ({"gpu_ns": [0.0] * 30}, {"gpu_ns": [40_000.0] * 30, "resolution_ns": 1e6}):
        found = timed(calls=1, **fields).to_dict()
        assert (found["status"], found["below_resolution"]) == ("timed", True)
        numbers = ("median_ns", "p20_ns", "p80_ns", "tflops", "gbps", "share_of_peak")
        assert [found[name] for name in numbers] == [None] * 6
        assert "below the resolution" in found["message"]
    assert not timed(resolution_ns=100_000.0).to_dict()["below_resolution"], "25 calls a sample"


def test_a_clock_that_never_was_steady_is_a_warning() -> None:
    clock = {"stable": False, "ns": 62_000.0, "best_ns": 31_000.0, "spread": 0.4}
    (said,) = timed(clock=clock).warnings
    assert "62000 ns beside the samples and 31000 ns at best" in said


def test_what_the_page_warned_of_during_the_check_is_a_warning_of_the_benchmark_too() -> None:
    unused, sampled = (
        "the tuned table of this adapter is not used: it is bad",
        "a sample was judged",
    )
    check = replace(CHECK, message=f"o 0.1\n{sampled}", warnings=(unused, sampled))
    assert bench_report.timed(CASE, check, done(), 30).warnings == (unused,)
    assert bench_report.not_timed(CASE, replace(check, status="fail")).warnings == (unused,)
    lost = RunError("device-lost", "gone")
    assert bench_report.failed(CASE, check, lost).warnings == (unused,)


@pytest.mark.parametrize("fields", [{"shader_sha256": "6" * 64}, {"kernel": "another"}])
def test_times_of_another_kernel_than_the_judged_one_are_an_error(fields: dict[str, str]) -> None:
    report = timed(**fields)
    assert (report.status, report.timing) == ("error", None)
    assert "is what was judged" in report.message


def test_too_few_samples_are_an_error() -> None:
    report = timed(gpu_ns=[1.0] * 29)
    assert report.status == "error"
    assert "30 samples were asked for, the page sent 29" in report.message


def test_what_was_not_timed_has_the_same_keys_and_no_numbers() -> None:
    wrong = replace(CHECK, status="fail", message="o is wrong")
    reports = [
        bench_report.not_timed(CASE, wrong),
        bench_report.failed(CASE, CHECK, RunError("timeout", "late")),
        bench_report.failed(CASE, None, RunError("unsupported", "too large")),
    ]
    assert [one.status for one in reports] == ["fail", "error", "skip"]
    for one in reports:
        found = one.to_dict()
        assert found.keys() == timed().to_dict().keys()
        assert {name: found[name] for name in NOT_TIMED} == NOT_TIMED
