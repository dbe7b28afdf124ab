"""Tuned tiles in a browser: one search, and what every later page does with what it kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from fa2_process import fa2

from server import tuned
from server.harness import Harness

CASE = "forward:T=40,H=2,D=8,kernel=fa2_forward"
TILE = {"TX": 2, "TY": 16, "V_CHUNK": 8, "chunk": 8}


def table(**changes: object) -> dict[str, object]:
    return {"kernels": {"fa2_forward": [{"maxD": 64, **TILE, **changes}]}, "choices": []}


def test_a_tile_that_a_call_gives_is_judged_and_timed(harness: Harness) -> None:
    report = harness.bench(CASE, tuned=table())
    assert report.status == "timed", report.message
    assert report.report is not None
    assert report.report.passes[0]["tile"] == TILE
    refused = harness.bench(CASE, tuned=table(TX=0))
    assert refused.status == "error"
    assert "TX=0: must be a whole number" in refused.message


def test_a_tile_that_the_kernel_cannot_have_does_not_compile(harness: Harness) -> None:
    wrong = table(V_CHUNK=3)  # 8 keys in chunks of 3
    report = harness.bench(CASE, tuned={**wrong, "strict": True})
    assert report.status == "error", report.message
    assert report.error is not None
    assert report.error.kind == "compile"


def test_a_tuned_tile_that_does_not_compile_costs_a_warning_and_no_run(harness: Harness) -> None:
    own = harness.run(CASE)
    report = harness.bench(CASE, tuned=table(V_CHUNK=3)).report
    assert report is not None
    assert (report.status, report.passes) == ("pass", own.passes), report.message
    [warning] = report.warnings
    assert "fa2_forward does not compile for this request and was left out (TX=2," in warning
    assert "fa2_forward.wgsl:" in warning


def test_the_table_kept_for_an_adapter_is_used_from_the_next_run_on(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = harness.run(CASE)
    assert own.passes[0]["tile"] != TILE
    monkeypatch.setenv("FA2_TUNED_DIR", str(tmp_path))
    path = tuned.path_of(harness.environment["adapter"], tmp_path)
    tuned.save(table(), path)
    with Harness() as other:
        report = other.run(CASE)
        assert (report.status, report.passes[0]["tile"]) == ("pass", TILE), report.message
        tuned.save(table(V_CHUNK=4), path)  # as `fa2 tune` does while the page is open
        report = other.run(CASE)
        assert report.passes[0]["tile"] == {**TILE, "V_CHUNK": 4}, report.message
        tuned.save({"kernels": {"fa3": []}}, path)
        report = other.run(CASE)
        trained = other.train("tiny", gate="none", steps=1)
    assert (report.status, report.passes[0]["tile"]) == ("pass", own.passes[0]["tile"])
    assert trained.ok, trained.message
    for [warning] in (report.warnings, trained.warnings):
        assert "tuned table of this adapter is not used: tuned: there is no kernel fa3" in warning


@pytest.mark.usefixtures("harness")
@pytest.mark.slow
def test_fa2_tune_measures_and_writes_a_table(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    case = "forward:T=8,D=4,kernel=attn_fused_sv"  # two numbers, five candidates
    done = fa2("tune", case, "--rounds", "1", "--out", str(path))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert f"written to {path}" in done.stdout.replace("\n", "")
    [measured] = tuned.read(path)["measured"]
    assert (measured["case"], measured["tried"]) == (case, 5)
    assert 0 < measured["after_ns"] <= measured["before_ns"]
