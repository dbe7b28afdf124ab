"""What a replay asks for here, and what it says of the difference to there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_runs import finished, keep, report_of

from server.cases import Case
from server.errors import CaseError
from server.history import History
from server.paths import STATIC
from server.replay import plan, replay
from server.report import Report
from server.repro import write_repro
from server.repro_file import Repro, parse_repro

KERNEL = "fa2_forward.wgsl"
PASS = {"kernel": "fa2_forward", "tile": {}, "roles": {"storage": "common/storage_f32.wgsl"}}


class Page:
    """A Harness that computes what it is told."""

    def __init__(self, report: Report, outputs: dict[str, np.ndarray[Any, Any]]) -> None:
        self.last_outputs = outputs
        self.report = report
        self.asked: dict[str, Any] = {}

    def run(self, case: Case, **options: Any) -> Report:
        self.asked = {"case": str(case), **options}
        return self.report


def recorded(tmp_path: Path, status: str = "fail", **options: Any) -> Repro:
    history = keep(tmp_path / "history.db", finished(status=status, **options))
    kept = history.get(history.find("last"))
    assert kept is not None
    return parse_repro(write_repro(History(history.path), kept), "it")


def test_only_texts_that_differ_replace_the_installed_ones(tmp_path: Path) -> None:
    repro = recorded(tmp_path, shaders={KERNEL: "// edited\n"})
    wanted = plan(repro)
    assert wanted.shaders == {KERNEL: "// edited\n"}
    assert wanted.notes == [f"in place of the installed texts: {KERNEL}"]


def test_texts_that_this_version_does_not_have_are_left_out_and_told(tmp_path: Path) -> None:
    repro = recorded(tmp_path)
    repro.shaders["common/unheard_of.wgsl"] = "// new\n"
    wanted = plan(repro)
    assert wanted.shaders == {}
    assert wanted.notes == ["common/unheard_of.wgsl is no shader file of this version: left out"]


def test_the_kernel_that_ran_there_runs_here(tmp_path: Path) -> None:
    repro = recorded(tmp_path, kernel="fa2_forward_wide")
    assert plan(repro).case.kernel == "fa2_forward_wide"
    other = replace(repro, told=repro.told.model_copy(update={"kernel": "not_here"}))
    assert plan(other).case.kernel == "auto"


def test_the_tile_that_ran_there_is_tried_first(tmp_path: Path) -> None:
    rows = json.loads((STATIC / "js/attention/kernels.json").read_text())["kernels"]
    row = next(row for row in rows if row["name"] == "fa2_forward")
    tile = {name: size for name, size in row["tiles"][-1].items() if name != "maxD"}
    repro = recorded(tmp_path, passes=({**PASS, "tile": tile},))
    tuned = plan(repro).tuned
    assert tuned is not None
    assert tuned["kernels"]["fa2_forward"] == [
        {**tile, "roles": PASS["roles"], "why": "as it was recorded"}
    ]


def test_a_page_of_another_server_is_not_asked_for_tiles_and_the_replay_says_so(
    tmp_path: Path,
) -> None:
    rows = json.loads((STATIC / "js/attention/kernels.json").read_text())["kernels"]
    row = next(row for row in rows if row["name"] == "fa2_forward")
    tile = {name: size for name, size in row["tiles"][-1].items() if name != "maxD"}
    wanted = plan(recorded(tmp_path, passes=({**PASS, "tile": tile},)), with_tiles=False)
    assert wanted.tuned is None
    assert wanted.notes == ["tiles are chosen anew: the page takes none from here"]


def test_a_tile_of_another_version_is_not_forced(tmp_path: Path) -> None:
    wanted = plan(recorded(tmp_path, passes=({**PASS, "tile": {"ODD": 3}},)))
    assert wanted.tuned is None
    assert wanted.notes == ["the tile of fa2_forward is none of this version's: chosen anew"]


def test_a_run_on_somebodys_own_inputs_cannot_be_replayed(tmp_path: Path) -> None:
    run, report = finished()
    run.seeded = False
    history = keep(tmp_path / "history.db", (run, report))
    kept = history.get(run.id)
    assert kept is not None
    with pytest.raises(CaseError, match="its caller's own inputs"):
        plan(parse_repro(write_repro(history, kept), "it"))


def test_equal_outputs_are_bit_equal(tmp_path: Path) -> None:
    for status in ("pass", "fail"):  # by digest alone, and by what was kept
        repro = recorded(tmp_path / status, status)
        run, report = finished(status=status)
        found = replay(repro, Page(report, run.tensors))
        assert {one.name: one.said() for one in found.outputs} == {"o": "bit-equal"}
        assert found.same_verdict
        assert found.same_inputs
        assert found.same_shader


def test_the_shader_of_a_traced_run_is_another_one_and_the_replay_says_why(tmp_path: Path) -> None:
    repro = recorded(tmp_path)
    traced = replace(repro, asked=repro.asked.model_copy(update={"trace": {"b": 0, "i_tile": 1}}))
    run, report = finished()
    assert replay(traced, Page(report, run.tensors)).notes == []
    other = replace(report, shader_sha256="c" * 64)
    found = replay(traced, Page(other, run.tensors))
    assert found.same_shader is False
    assert "recorded with the lines that tell a trace" in found.notes[0]
    assert replay(repro, Page(other, run.tensors)).notes == []


def test_outputs_apart_are_told_in_units_of_the_last_place(tmp_path: Path) -> None:
    repro = recorded(tmp_path)
    run, report = finished()
    o = run.tensors["o"].copy()
    o[0, 1, 0, 2] = np.nextafter(np.float32(1), np.float32(2))
    o[0, 2, 0, 0] = np.float32(1) + np.float32(4 * 2.0**-23)
    found = replay(repro, Page(report, {"o": o}))
    assert found.outputs[0].said() == "2 elements differ, at most 4 ULP"
    assert not found.same_verdict  # recorded was a fail


def test_a_nan_where_there_was_a_number_is_as_far_as_it_gets(tmp_path: Path) -> None:
    repro = recorded(tmp_path)
    run, report = finished()
    o = run.tensors["o"].copy()
    o[0, 0, 0, 0] = np.nan
    assert replay(repro, Page(report, {"o": o})).outputs[0].said().endswith("at most inf ULP")


def test_nans_with_other_bits_are_no_difference(tmp_path: Path) -> None:
    run, report = finished(status="fail")
    run.tensors["o"].view("<u4").flat[3] = 0x7FC00001
    history = keep(tmp_path / "history.db", (run, report))
    kept = history.get(run.id)
    assert kept is not None
    repro = parse_repro(write_repro(history, kept), "it")
    here = run.tensors["o"].copy()
    here.view("<u4").flat[3] = 0x7FC00002
    assert replay(repro, Page(report, {"o": here})).outputs[0].said() == (
        "equal but for the bits of NaN"
    )


def test_other_outputs_of_a_right_run_are_told_by_their_digest(tmp_path: Path) -> None:
    repro = recorded(tmp_path, "pass")
    run, report = finished()
    found = replay(repro, Page(report, {"o": run.tensors["o"] * 2}))
    assert found.outputs[0].said() == "not equal (only its digest was kept)"


def test_a_backward_on_another_adapter_may_have_another_forward(tmp_path: Path) -> None:
    case = "backward:T=8,H=2,D=4"
    history = keep(tmp_path / "history.db", finished(case))
    kept = history.get(history.find("last"))
    assert kept is not None
    repro = parse_repro(write_repro(history, kept), "it")
    run, report = finished(case)
    assert replay(repro, Page(report, run.tensors)).notes == []
    elsewhere = replace(report, adapter={"vendor": "other"})
    (note,) = replay(repro, Page(elsewhere, run.tensors)).notes
    assert note.startswith("another adapter: the forward")


def test_a_run_that_computes_nothing_here_compares_nothing(tmp_path: Path) -> None:
    repro = recorded(tmp_path)
    failed = report_of("forward:T=8,D=4", "error", outputs={}, input_sha256="", shader_sha256="")
    found = replay(repro, Page(failed, {}))
    assert found.outputs[0].said() == "not compared"
    assert found.same_inputs is None
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["same_verdict"] is False
