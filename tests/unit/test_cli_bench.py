"""`fa2 bench` without a browser: what is timed, what is left out, what is printed, exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_bench import CHECK, PEAKS, done
from typer.testing import CliRunner, Result

from server import bench_report, cli_bench
from server.bench_report import BenchReport
from server.bench_spec import flops
from server.cases import Case
from server.cli import app
from server.errors import CaseError
from server.report import RunError

Answer = Callable[[Case], BenchReport]
SMALL = "forward:T=512,H=16,D=64"


class FakeHarness:
    """Answers each benchmark by a function of its case."""

    def __init__(self, answer: Answer, *, fallback: bool = False) -> None:
        adapter = {"vendor": "fake", "fallback": fallback}
        self.environment = {"engine": "Fake 1", "adapter": adapter}
        self.asked: list[tuple[Case, int]] = []
        self._answer = answer

    def __call__(self, *_: Any, **__: Any) -> FakeHarness:
        return self

    def __enter__(self) -> FakeHarness:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def bench(self, case: Case, *, samples: int, watch: Any) -> BenchReport:
        self.asked.append((case, samples))
        return self._answer(case)


def at(flops_per_s: float) -> Answer:
    """Every case is timed, at that speed."""

    def answer(case: Case) -> BenchReport:
        ns = flops(case) / flops_per_s * 1e9
        return bench_report.timed(case, CHECK, done(gpu_ns=[ns] * 30), 30)

    return answer


def wrong(case: Case) -> BenchReport:
    check = replace(CHECK, status="fail", message="o is wrong at [0]")
    return bench_report.not_timed(case, check)


def failing(kind: str) -> Answer:
    return lambda case: bench_report.failed(case, CHECK, RunError(kind, f"this is a {kind}"))


def run(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, *words: str, fallback: bool = False
) -> tuple[Result, FakeHarness]:
    fake = FakeHarness(answer, fallback=fallback)
    monkeypatch.setattr(cli_bench, "Harness", fake)
    return CliRunner().invoke(app, ["bench", *words]), fake


def test_a_case_is_timed_and_told_in_a_line_a_table_and_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "bench.json"
    result, fake = run(monkeypatch, at(20e12), SMALL, "--json", str(file), "--samples", "40")
    assert result.exit_code == 0, result.output
    assert fake.asked == [(Case.parse(SMALL), 40)]
    lines = result.output.splitlines()
    assert lines[0] == "Fake 1 · fake · 40 samples a case"
    assert re.match(
        rf"TIMED +{SMALL}  26.9 µs \(gpu\), 20 TFLOP/s, 30.8 % of the f32 peak", lines[1]
    )
    row = next(line for line in lines if line.startswith(SMALL))
    assert re.sub(" +", " ", row) == (
        f"{SMALL} fa2_forward 26.9 µs 26.9 µs 26.9 µs 50 µs 20 313 30.8 %"
    )
    assert "Peaks measured here: f32 multiply-adds 65 TFLOP/s, f16 matrices 540 TFLOP/s" in (
        result.output
    )
    assert lines[-1] == "DONE: 1 timed on fake"
    found = json.loads(file.read_text())
    assert found["peaks"] == PEAKS
    assert (found["adapter"]["vendor"], found["engine"]) == ("fake", "Fake 1")
    assert (found["software"], found["interrupted"], found["left_out"]) == (False, False, [])
    (entry,) = found["results"]
    assert entry["case"] == SMALL
    assert entry["tflops"] == pytest.approx(20)
    assert entry["report"]["status"] == "pass"


def test_the_same_warning_is_printed_once_and_stands_with_every_case_in_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unused, file = "the tuned table of this adapter is not used: it is bad", tmp_path / "b.json"
    check = replace(CHECK, warnings=(unused,))

    def answer(case: Case) -> BenchReport:
        return bench_report.timed(case, check, done(), 30)

    words = (SMALL, "forward:T=256,H=16,D=64", "--json", str(file))
    result, _ = run(monkeypatch, answer, *words)
    assert result.output.splitlines()[2] == f"        {unused}"
    assert result.output.count(unused) == 1
    assert [one["warnings"] for one in json.loads(file.read_text())["results"]] == [[unused]] * 2


def test_peers_without_a_name_are_refused_before_anything_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result, fake = run(monkeypatch, at(1e9), SMALL, "--peers=")
    assert isinstance(result.exception, CaseError)
    assert "--peers names ''" in result.exception.message
    assert fake.asked == []


def test_a_software_adapter_is_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = run(monkeypatch, at(1e9), SMALL, fallback=True)
    assert "fake (software)" in result.output
    assert "its times say nothing of a GPU" in result.output


def test_a_case_that_is_wrong_is_not_timed_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result, _ = run(monkeypatch, wrong, SMALL)
    assert result.exit_code == 1
    assert f"FAIL    {SMALL}\n        o is wrong at [0]" in result.output
    assert result.output.splitlines()[-1] == "1 FAIL; 0 timed"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("timeout", 4),
        ("device-lost", 4),
        ("no-adapter", 3),
        ("unsupported", 2),
        ("compile", 1),
        ("page", 1),
    ],
)
def test_the_exit_code_says_what_went_wrong(
    monkeypatch: pytest.MonkeyPatch, kind: str, code: int
) -> None:
    result, _ = run(monkeypatch, failing(kind), SMALL)
    assert result.exit_code == code
    assert f"this is a {kind}" in result.output


def test_a_lost_device_is_an_error_and_the_next_case_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([failing("device-lost"), at(1e12)])
    result, fake = run(monkeypatch, lambda case: next(answers)(case), SMALL, f"{SMALL},seed=1")
    assert len(fake.asked) == 2
    assert result.exit_code == 4
    assert "1 ERROR; 1 timed" in result.output


def test_a_sweep_goes_as_far_as_its_limit_and_says_what_it_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "bench.json"
    result, fake = run(monkeypatch, at(1e9), "--sweep", "--json", str(file), fallback=True)
    assert result.exit_code == 0
    # 40 calls at 1 GFLOP/s: 22 s, then 43 s, then 54 s; everything longer is beyond 60 s.
    ran = [str(case) for case, _ in fake.asked]
    assert ran[0] == SMALL
    assert set(ran) <= {str(case) for cases in cli_bench.series() for case in cases[:1]}
    left = json.loads(file.read_text())["left_out"]
    assert len(ran) + len(left) == 8 * 7
    first, last = "forward:T=1024,H=16,D=64", "forward:T=32768,H=16,D=64"
    assert (
        f"Left out: {first} … {last} (6 cases): the first would take about 86 s by the speed of "
        "the case before it; --limit is 60 s\n"
    ) in result.output
    fast, fake = run(monkeypatch, at(30e12), "--sweep")
    assert (fast.exit_code, len(fake.asked)) == (0, 8 * 7)


def test_a_sweep_passes_over_what_is_refused_and_what_follows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(case: Case) -> BenchReport:
        return (failing("unsupported") if case.dtype == "f16" else at(30e12))(case)

    result, fake = run(monkeypatch, answer, "--sweep")
    assert result.exit_code == 0, "a sweep names no case"
    assert sum(case.dtype == "f16" for case, _ in fake.asked) == 4
    assert "longer than forward:T=512,H=16,D=64,dtype=f16, which was not timed" in result.output
    assert "28 timed" in result.output


def test_a_case_that_cannot_be_judged_is_refused_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(case: Case) -> BenchReport:
        if case.seed == 0:
            raise CaseError("would return too many bytes")
        return at(1e12)(case)

    result, _ = run(monkeypatch, answer, SMALL, f"{SMALL},seed=1")
    assert result.exit_code == 2
    assert "would return too many bytes" in result.output
    assert "1 REFUSED; 1 timed" in result.output


def test_ctrl_c_ends_with_130_and_keeps_what_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "bench.json"

    def answer(case: Case) -> BenchReport:
        if case.seed == 1:
            assert len(json.loads(file.read_text())["results"]) == 1, "written as they come"
            raise KeyboardInterrupt
        return at(1e12)(case)

    words = (SMALL, f"{SMALL},seed=1", "--json", str(file))
    result, _ = run(monkeypatch, answer, *words)
    assert result.exit_code == 130
    assert result.output.splitlines()[-1] == "INTERRUPTED: 1 timed"
    assert json.loads(file.read_text())["interrupted"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name a case such as"),
        ((SMALL, "--samples", "29"), "greater than or equal to 30"),
        ((SMALL, "--kernel", "nonesuch"), "there is no kernel 'nonesuch'"),
        (("--sweep", "--kernel", "nonesuch"), "there is no kernel 'nonesuch'"),
        (("--sweep", "--limit", "inf"), "a number of seconds that ends"),
        (("forward:T=512",), "D"),
    ],
)
def test_usage_is_refused_before_a_browser_starts(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    result, fake = run(monkeypatch, at(1e12), *words)
    assert fake.asked == []
    assert result.exit_code == 2 or isinstance(result.exception, CaseError)
    assert says in (result.output + str(result.exception))
