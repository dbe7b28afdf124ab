"""`fa2 compare` without a browser: what a side may be, what is timed, what is printed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_bench import CHECK, done
from kept_runs import finished, keep, report_of
from typer.testing import CliRunner

from server import bench_report, cli_compare
from server.bench_report import BenchReport
from server.cases import Case
from server.cli import app
from server.compare_run import Compared, run_both
from server.compare_sides import Side, read_side
from server.errors import CaseError, HarnessError
from server.history import History
from server.outputs import outputs_of
from server.report import Report

CASE = Case.parse("forward:T=8,H=2,D=4")
KERNEL = """
@group(0) @binding(0) var<storage, read> Q: array<f32>;
@compute @workgroup_size(1) fn main() {}
"""


class Twice:
    """A harness whose page computes ones for "fa2" and twos for everything else."""

    environment: Mapping[str, Any] = {"engine": "Fake 1", "adapter": {"vendor": "v"}}

    def __init__(self, *_: Any, wrong: tuple[str, ...] = (), **__: Any) -> None:
        self.wrong = wrong
        self.last_outputs: dict[str, Any] = {}
        self.timed: list[str] = []

    def __enter__(self) -> Twice:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def run(self, case: Case, *, kappa: float, **_: Any) -> Report:
        value = 1.0 if case.kernel == "fa2" else 2.0
        self.last_outputs = {
            spec.name: np.full(spec.shape, value, spec.numpy) for spec in outputs_of(case)
        }
        status = "fail" if case.kernel in self.wrong else "pass"
        digest = "2" * 64 if case.kernel == "fa2" else "3" * 64
        fields = {"kernel": case.kernel, "kappa": kappa, "shader_sha256": digest}
        return report_of(str(case), status, ratio=value / 4, **fields)

    def bench(self, case: Case, **_: Any) -> BenchReport:
        self.timed.append(case.kernel)
        told = done(gpu_ns=[value * (1 + (case.kernel != "fa2")) for value in done().gpu_ns])
        return bench_report.timed(case, CHECK, told, 31)


def both(harness: Any, **options: Any) -> Any:
    sides = Side("fa2", "fa2"), Side("baseline", "baseline")
    return run_both(harness, CASE, sides, kappa=4.0, **options)


def test_two_right_kernels_are_timed_by_turns_and_held_against_each_other() -> None:
    harness = Twice()
    found = both(harness)
    assert harness.timed == ["fa2", "baseline", "baseline", "fa2"]
    assert found.outputs["o"].max_abs == 1.0
    assert found.outputs["o"].differ == 64
    ratio = found.ratio
    assert ratio.value == pytest.approx(0.5)
    assert ratio.low < ratio.value < ratio.high
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_failed_is_not_timed_and_has_no_ratio() -> None:
    harness = Twice(wrong=("fa2",))
    found = both(harness)
    assert harness.timed == ["baseline", "baseline"]
    assert found.ratio is None
    assert both(silent := Twice(), timed=False).ratio is None
    assert silent.timed == []


def test_the_command_prints_both_sides_and_its_code_is_the_worst_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli_compare, "Harness", Twice)
    file = tmp_path / "compared.json"
    words = ["compare", f"{CASE},kernel=auto", "fa2", "baseline", "--json", str(file)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == f"{CASE} · Fake 1 · v · κ = 4"
    assert lines[1:3] == ["A = fa2  PASS", "B = baseline  PASS"]
    row = next(line.split() for line in lines if line.startswith("o "))
    assert row[:5] == ["o", "0.25", "0.5", "0.5", "1"]
    assert row[-3:] == ["64", "of", "64"]
    time = next(line for line in lines if line.startswith("time"))
    assert "40 µs" in time
    assert "80 µs" in time
    assert "0.5 (" in time
    assert json.loads(file.read_text())["time"]["ratio"] == pytest.approx(0.5)

    class Wrong(Twice):
        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__(wrong=("baseline",))

    monkeypatch.setattr(cli_compare, "Harness", Wrong)
    result = CliRunner().invoke(app, words[:4])
    assert result.exit_code == 1
    assert "B = baseline  FAIL" in result.output
    assert "it is a fail" in result.output
    assert "not timed" in result.output


def test_a_kernel_beside_itself_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli_compare, "Harness", Twice)
    file = tmp_path / "compared.json"
    for other, same in (("fa2", True), ("baseline", False)):
        words = ["compare", str(CASE), "fa2", other, "--no-time", "--json", str(file)]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        assert ("Both sides are the same kernel and text (fa2)" in result.output) is same
        assert json.loads(file.read_text())["same"] is same


def test_a_backward_whose_forward_may_have_been_edited_is_not_the_same() -> None:
    case = Case.parse("backward:T=8,H=2,D=4")
    sides = Side("fa2", "fa2"), Side("run 1", "fa2")
    plain, edited = report_of(str(case)), report_of(str(case), edited=("fa2_forward.wgsl",))
    assert Compared(case, sides, [plain, plain]).same
    assert not Compared(case, sides, [plain, edited]).same
    assert Compared(CASE, sides, [plain, edited]).same, "the digest of a forward is of all of it"
    nothing = report_of(str(case), "skip", shader_sha256="")
    assert not Compared(case, sides, [nothing, nothing]).same


def test_a_kernel_s_name_and_a_file_are_sides(tmp_path: Path) -> None:
    assert read_side("baseline") == Side("baseline", "baseline")
    file = tmp_path / "mine.wgsl"
    file.write_text(KERNEL)
    (tmp_path / "mine.json").write_text('{"op": "forward", "grid": ["T"]}')
    side = read_side(str(file))
    assert side.label == "mine"
    assert side.kernel == "auto"
    assert side.options["own"]["files"] == {"mine.wgsl": KERNEL}


def test_a_run_of_the_history_brings_the_texts_that_it_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "history.db"
    run, report = finished(str(CASE), shaders={"common/masking.wgsl": "// edited\n"})
    keep(file, (run, report))
    side = read_side(run.id[:8], file)
    assert side.label == f"run {run.id[:8]} (fa2_forward)"
    assert side.kernel == "fa2_forward"
    assert side.options["shaders"] == {"common/masking.wgsl": "// edited\n"}
    assert read_side("last", file) == side
    monkeypatch.setattr(History, "outputs", lambda *_: pytest.fail("unpacked for nothing"))
    assert read_side("last", file) == side


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("fa3", "is no kernel (auto, "),
        ("none.wgsl", "none.wgsl cannot be read"),
        ("0123456789", "has no run '0123456789'"),
    ],
)
def test_what_is_no_side_is_refused(word: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError) as refused:
        read_side(word, tmp_path / "history.db")
    assert says in refused.value.message


def test_a_wrong_case_is_refused_before_a_browser_starts() -> None:
    for words in (["forward:T=8", "fa2", "fa2"], [str(CASE), "fa2", "nope"]):
        assert isinstance(CliRunner().invoke(app, ["compare", *words]).exception, HarnessError)
