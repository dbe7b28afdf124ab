"""`fa2 golden` without a browser: verdicts, refusals, counts, files, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_harness import FakeHarness, report
from test_golden_files import FOLDER, NAME, change, copy_of
from typer.testing import CliRunner, Result

from server import cli_golden
from server.cli import app
from server.errors import CompileError, DeviceLost, NoAdapter, PageError, Timeout
from server.history import History
from server.report import Finding, OutputReport
from server.verdict import Worst

Golden = Callable[..., Result]
OTHER = "T0031_hd16_causal"


@pytest.fixture
def golden(monkeypatch: pytest.MonkeyPatch) -> Golden:
    """Runs the command on a fake harness, which stays in ``.harness``."""

    def run(folder: Path, *words: str, spoil: Any = None, harness: Any = None) -> Result:
        run.harness = harness or FakeHarness(spoil)  # type: ignore[attr-defined]
        monkeypatch.setattr(cli_golden, "Harness", lambda *_, **__: run.harness)
        return CliRunner().invoke(app, ["golden", str(folder), *words])

    return run


def last(result: Result) -> str:
    return result.stdout.splitlines()[-1]


def raising(error: Exception) -> Callable[[dict[str, Any], int], None]:
    def spoil(_outputs: dict[str, Any], calls: int) -> None:
        if calls == 1:
            raise error

    return spoil


def test_right_results_pass_and_the_rest_is_refused_by_what_it_needs(
    golden: Golden, tmp_path: Path
) -> None:
    file = tmp_path / "new" / "golden.json"
    result = golden(FOLDER, "--json", str(file))
    assert result.exit_code == 0, result.output
    written = json.loads(file.read_text())
    total = sum(len(json.loads(p.read_text())["cases"]) for p in FOLDER.glob("*/index.json"))
    assert sum(written["counts"].values()) == len(written["results"]) == total
    assert written["counts"]["pass"] > 30
    assert written["counts"]["fail"] == written["counts"]["error"] == 0
    assert sum(written["refused"].values()) == written["counts"]["refused"]
    assert set(written["refused"]) == {
        "window", "softcap", "bias", "bfloat16", "per-batch key lengths", "different V head size",
    }  # fmt: skip
    for reason, number in written["refused"].items():
        assert f"REFUSED {number:>3}  {reason}" in result.stdout.splitlines()
    assert last(result).startswith(f"ALL PASS: {written['counts']['pass']} passed, 0 failed, ")
    assert "FAIL" not in result.stdout.replace("0 failed", "")
    assert (written["engine"], written["interrupted"]) == ("Fake 1", False)
    passed = next(r for r in written["results"] if r["case"] == f"torch/{NAME}")
    assert sorted(passed["outputs"]) == ["attn", "dk", "dq", "dv", "lse", "o"]
    assert 0 < passed["outputs"]["dk"]["worst_ratio"] < 1
    assert passed["kernel"] == "fake"


def test_native_parameters_reach_the_harness(golden: Golden, tmp_path: Path) -> None:
    golden(copy_of(tmp_path, "br_Tq5_Tk37", "tl_Tq64_Tk33", "scale_0"), "--kernel", "baseline")
    calls = {call["align"]: call for call in golden.harness.calls}  # type: ignore[attr-defined]
    assert sorted(calls) == ["br", "tl"]
    assert all(call["kernel"] == "baseline" for call in calls.values())
    assert any(call["scale"] == 0 for call in golden.harness.calls)  # type: ignore[attr-defined]


def test_a_case_in_f16_reaches_the_harness_in_f16(golden: Golden, tmp_path: Path) -> None:
    file = tmp_path / "golden.json"
    taken = []
    harness = FakeHarness(lambda outputs, _: taken.append({n: x.dtype for n, x in outputs.items()}))
    result = golden(copy_of(tmp_path, "f16_odd_T5_H1_hd3"), "--json", str(file), harness=harness)
    assert result.exit_code == 0, result.output
    assert taken[0]["o"] == taken[0]["dk"] == np.float16
    assert taken[0]["lse"] == taken[0]["attn"] == np.float32
    (entry,) = json.loads(file.read_text())["results"]
    worst = {name: one["worst_ratio"] for name, one in entry["outputs"].items()}
    assert 0.01 < worst["o"] < 1  # the file's tolerance for storage in f16
    assert worst["lse"] < 0.1  # and that for float32


@pytest.mark.parametrize("name", ["o", "lse", "attn", "dq", "dk", "dv"])
def test_an_altered_expected_value_fails(name: str, golden: Golden, tmp_path: Path) -> None:
    folder = copy_of(tmp_path, NAME)
    with np.load(folder / f"{NAME}.npz") as stored:
        altered = stored[name].copy()
    altered.flat[7] += 1e-3
    change(folder, **{name: altered})
    result = golden(folder)
    assert result.exit_code == 1
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("FAIL")]
    assert f"{folder.name}/{NAME}  {name}: 1 of " in line
    assert last(result).startswith("1 FAILED: 0 passed, 1 failed, 0 refused of 1 cases")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["o", "lse", "attn", "dq", "dk", "dv"])
def test_nan_and_infinity_fail(name: str, value: float, golden: Golden, tmp_path: Path) -> None:
    def spoil(outputs: dict[str, Any], _calls: int) -> None:
        outputs[name].flat[5] = value

    file = tmp_path / "golden.json"
    result = golden(copy_of(tmp_path, NAME), "--json", str(file), spoil=spoil)
    assert result.exit_code == 1
    assert f"{name}: 1 {'NaN' if np.isnan(value) else 'infinite'}" in result.stdout
    (entry,) = json.loads(file.read_text())["results"]
    assert entry["outputs"][name]["worst_ratio"] == "inf"


def test_an_output_that_does_not_come_back_fails(golden: Golden, tmp_path: Path) -> None:
    result = golden(copy_of(tmp_path, NAME), spoil=lambda outputs, _: outputs.pop("dv"))
    assert result.exit_code == 1
    assert "dv: not returned" in result.stdout


def test_a_fault_that_no_tolerance_shows_fails(golden: Golden, tmp_path: Path) -> None:
    folder, harness = copy_of(tmp_path, NAME), FakeHarness()
    # Its bounds on the numbers are others than the file's, which alone count.
    worst = OutputReport(19.0, Worst({"b": 0}, None, 1.0, 2.0, 0.1), 1, 9, 0, 0)
    for check in ("structure", "guards", "written", "repeated", "finite", "bounded"):
        for ratios in ({}, {"o": worst}):
            finding = Finding(check, "o", "what it found")
            said = f"o: a {check} fault"
            harness.last_report = report("fail", said, outputs=ratios, finding=finding)
            result = golden(folder, harness=harness)
            memory = check not in ("finite", "bounded")
            assert result.exit_code == memory, (check, ratios)
            assert (said in result.stdout) == memory


def test_what_the_page_warns_of_is_said_once_and_is_in_the_file(
    golden: Golden, tmp_path: Path
) -> None:
    folder, harness, file = copy_of(tmp_path, NAME, OTHER), FakeHarness(), tmp_path / "golden.json"
    warnings = ("the tuned table of this adapter is not used: why",)
    harness.last_report = report("pass", warnings=warnings)
    result = golden(folder, "--json", str(file), harness=harness)
    assert result.exit_code == 0, result.output
    assert result.output.count(warnings[0]) == 1
    told = [one["warnings"] for one in json.loads(file.read_text())["results"]]
    assert told == [[warnings[0]]] * 2


def test_when_every_case_is_refused_nothing_ran_and_the_code_is_1(
    golden: Golden, tmp_path: Path
) -> None:
    result = golden(copy_of(tmp_path, "win_l1_r0_T40", "softcap10_win4_gqa_T45"))
    assert result.exit_code == 1
    assert last(result).startswith("NOTHING RAN: 0 passed, 0 failed, 2 refused of 2 cases")
    (tmp_path / "index.json").write_text('{"cases": []}')
    assert golden(tmp_path).exit_code == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Timeout("too slow"), 4),
        (DeviceLost("gone"), 4),
        (CompileError("fa2.wgsl:3:4: no\n  3 | x"), 1),
        (PageError("odd"), 1),
    ],
)
def test_an_error_is_told_and_the_next_case_runs(
    error: Exception, code: int, golden: Golden, tmp_path: Path
) -> None:
    result = golden(copy_of(tmp_path, NAME, OTHER), spoil=raising(error))
    assert result.exit_code == code
    assert f"  {str(error).splitlines()[0]}" in result.stdout
    assert last(result).startswith("1 ERROR: 1 passed, 1 failed, 0 refused of 2 cases")


def test_fail_fast_stops_at_the_first_failure(golden: Golden, tmp_path: Path) -> None:
    folder = copy_of(tmp_path, NAME, OTHER)
    result = golden(folder, "--fail-fast", spoil=raising(PageError("odd")))
    assert result.exit_code == 1
    assert "0 passed, 1 failed, 0 refused of 2 cases" in last(result)
    assert "1 not run" in last(result)


def test_a_vanished_adapter_and_an_interruption_keep_the_file(
    golden: Golden, tmp_path: Path
) -> None:
    folder, file = copy_of(tmp_path, NAME, OTHER), tmp_path / "golden.json"

    def second(error: BaseException) -> Callable[[dict[str, Any], int], None]:
        def spoil(_outputs: dict[str, Any], calls: int) -> None:
            if calls == 2:
                raise error

        return spoil

    result = golden(folder, "--json", str(file), spoil=second(NoAdapter("none left")))
    assert isinstance(result.exception, NoAdapter)
    assert json.loads(file.read_text())["counts"]["pass"] == 1
    result = golden(folder, "--json", str(file), spoil=second(KeyboardInterrupt()))
    assert result.exit_code == 130
    assert last(result).startswith("INTERRUPTED: 1 passed")
    assert json.loads(file.read_text())["interrupted"] is True


def test_wrong_usage_is_named_before_a_browser_starts(golden: Golden, tmp_path: Path) -> None:
    folder = copy_of(tmp_path, NAME)
    for words, said in (
        ([str(tmp_path / "absent")], "is no folder"),
        ([str(folder), "--kernel", "nope"], "there is no kernel 'nope'"),
    ):
        result = golden(*words)
        assert said in str(result.exception)
    (folder / f"{NAME}.npz").write_bytes(b"hello")
    result = golden(folder)
    assert "is no readable .npz file" in str(result.exception)
    assert golden.harness.calls == []  # type: ignore[attr-defined]


def test_outcomes_come_into_the_history_unless_it_is_off(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.db"
    monkeypatch.setenv("FA2_HISTORY", str(path))
    folder = copy_of(tmp_path, NAME, "win_l1_r0_T40")
    assert golden(folder, "--no-history").exit_code == 0
    assert not path.exists()
    assert golden(folder, "--kernel", "fa2").exit_code == 0
    rows = {row["status"]: row for row in History(path).rows()}
    assert rows.keys() == {"pass", "skip"}
    assert (rows["pass"]["kind"], rows["pass"]["origin"]) == ("golden", "golden")
    assert rows["pass"]["case"] == f"golden:{folder.name}/{NAME}"
    assert 0 < rows["pass"]["worst"] < 1
    assert (rows["pass"]["adapter"], rows["skip"]["kernel"]) == ("none (software)", "fa2")
    kept = History(path).get(rows["pass"]["run"])
    assert kept is not None
    assert kept.request["environment"]["launched"]["browser"] == "fake"
    assert kept.texts


def test_shader_texts_of_a_page_elsewhere_are_not_told(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.db"
    monkeypatch.setenv("FA2_HISTORY", str(path))
    assert golden(copy_of(tmp_path, NAME), "--page", "phone").exit_code == 0
    (row,) = History(path).rows()
    kept = History(path).get(row["run"])
    assert kept is not None
    assert kept.texts == {}


def test_a_file_that_cannot_be_written_is_named(golden: Golden, tmp_path: Path) -> None:
    folder = copy_of(tmp_path, NAME)
    result = golden(folder, "--json", str(folder / "index.json" / "below"))
    assert "cannot be written" in str(result.exception)
