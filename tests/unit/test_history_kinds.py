"""Golden checks and trainings in the history, and files of a time that knew neither."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from kept_runs import ADAPTER, CASE, finished, keep
from typer.testing import CliRunner

from server.cli import app
from server.errors import CaseError, HistoryError
from server.golden import Check
from server.golden_outcome import Outcome
from server.history import History, told
from server.history_filter import Filter
from server.history_schema import MIGRATIONS, version_of
from server.history_writer import HistoryWriter
from server.paths import STATIC
from server.repro import write_repro
from server.training import Training
from server.training_report import Curves, TrainingDone, TrainingReport, judged
from server.training_spec import TrainingSpec

OLD = Path(__file__).parents[1] / "data" / "history-1.sql"
ENVIRONMENT = {"adapter": ADAPTER, "engine": "NumPy"}
WRONG = Outcome(
    "torch/T0031_hd16_causal",
    "fail",
    message="dq: 2 of 64 off",
    checks={"o": Check(0.25), "dq": Check(31.5, "2 of 64 off", 2)},
    kernel="fa2_backward",
    shader_sha256="3" * 64,
    elapsed_ns=4e6,
    gpu_ns=1e5,
)
REFUSED = Outcome("onnx/softcap", "refused", "softcap", "softcap=1: there is none")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "history.db"
    monkeypatch.setenv("FA2_HISTORY", str(path))
    monkeypatch.chdir(tmp_path)  # where `fa2 repro` writes
    return path


@pytest.fixture
def old(path: Path) -> Path:
    """A file as the first version left it, with two runs."""
    database = sqlite3.connect(path)
    database.executescript(OLD.read_text(encoding="utf-8"))
    database.close()
    return path


def trained(gate: str, losses: list[float], **spec: Any) -> tuple[Training, TrainingReport]:
    wanted = TrainingSpec.of("tiny", gate=gate, **spec)
    training = Training(wanted, 60.0, False, deadline_s=9.0)
    passes = 2 * wanted.config.layers * len(losses)
    done = TrainingDone(
        status="ok",
        attention_passes=passes,
        kernels=("fa2_forward_small", "fa2_backward_dq"),
        adapter=ADAPTER,
        engine="NumPy",
    )
    times = [9e6, *[2e6] * (len(losses) - 1)]
    return training, judged(wanted, Curves(losses, [], times), done)


def kept(path: Path, *what: tuple[Training, TrainingReport] | Outcome) -> History:
    writer = HistoryWriter(path, origin="python", static=STATIC)
    for one in what:
        if isinstance(one, Outcome):
            writer.observe_golden(one, "auto", ENVIRONMENT)
        else:
            writer.observe_training(*one)
    writer.close(10)
    return History(path)


def version(path: Path) -> int:
    database = sqlite3.connect(path)
    try:
        return version_of(database)
    finally:
        database.close()


def fa2(*words: str) -> str:
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_golden_check_is_kept_with_its_errors_and_without_arrays(path: Path) -> None:
    history = kept(path, WRONG)
    (row,) = history.rows()
    assert (row["kind"], row["case"]) == ("golden", "golden:torch/T0031_hd16_causal")
    assert (row["status"], row["worst"], row["bad"]) == ("fail", 31.5, 2)
    assert (row["kernel"], row["adapter"]) == ("fa2_backward", "acme one (software)")
    assert (row["elapsed_ns"], row["gpu_ns"], row["steps"]) == (4e6, 1e5, None)
    found = history.get(row["run"])
    assert found is not None
    assert found.report == {**WRONG.to_dict(), "engine": "NumPy", "adapter": ADAPTER}
    assert found.request["kernel"] == "auto"
    assert (found.digests, row["kept_bytes"]) == ({}, 0)
    assert "kernels.json" in found.texts


def test_a_refused_golden_case_is_a_skip_with_its_reason(path: Path) -> None:
    history = kept(path, REFUSED)
    (row,) = history.rows(Filter(status="skip"))
    assert (row["worst"], row["kernel"]) == (None, "auto")
    found = history.get(row["run"])
    assert found is not None
    assert (found.report["status"], found.report["reason"]) == ("skip", "softcap")


def test_a_training_is_kept_with_steps_last_loss_and_the_time_of_a_step(path: Path) -> None:
    losses = [5.5, *[0.4] * 149]
    training, report = trained("overfit", losses, attention="baseline", seed=7)
    training.shaders = {"fa2_forward.wgsl": "// mine\n"}
    history = kept(path, (training, report))
    (row,) = history.rows()
    assert (row["kind"], row["case"]) == ("train", "train:preset=tiny,gate=overfit,seed=7")
    assert (row["run"], row["kernel"], row["status"]) == (training.id, "baseline", "pass")
    assert (row["steps"], row["loss"], row["median_ns"]) == (150, 0.4, 2e6)
    assert row["worst"] == pytest.approx(0.8)  # 0.4 of the 0.5 that the gate allows
    assert row["edited"] == 1
    found = history.get(training.id)
    assert found is not None
    assert found.report == report.to_dict()
    assert (found.request["preset"], found.request["limit_s"]) == ("tiny", 60.0)
    assert history.texts(training.id)["fa2_forward.wgsl"] == "// mine\n"


def test_a_loss_that_is_no_number_is_none_in_the_row_and_a_word_in_the_report(path: Path) -> None:
    history = kept(path, trained("none", [5.5, math.nan], steps=3))
    (row,) = history.rows()
    assert (row["status"], row["steps"], row["loss"]) == ("fail", 2, None)
    found = history.get(row["run"])
    assert found is not None
    assert found.report["losses"] == [5.5, "NaN"]
    assert json.dumps(told(row), allow_nan=False)


def test_kinds_are_filtered_and_unknown_ones_named(path: Path) -> None:
    keep(path, finished())
    history = kept(path, WRONG, trained("none", [5.0], steps=1))
    kinds = {
        wanted: [row["kind"] for row in history.rows(Filter(kind=wanted))]
        for wanted in ("", "golden", "run,train", "bench")
    }
    assert kinds == {
        "": ["train", "golden", "run"],
        "golden": ["golden"],
        "run,train": ["train", "run"],
        "bench": [],
    }
    with pytest.raises(CaseError, match="kind='runs' is unknown; use run, bench, golden, train"):
        history.rows(Filter(kind="runs"))


def test_what_no_zip_can_repeat_says_what_does(path: Path) -> None:
    history = kept(path, WRONG, trained("none", [5.0], steps=1))
    for row, command in zip(history.rows(), ("`fa2 train`", "`fa2 golden`"), strict=True):
        found = history.get(row["run"])
        assert found is not None
        with pytest.raises(CaseError, match=command):
            write_repro(history, found)


def test_a_terminal_shows_both_in_lines_and_in_full(path: Path) -> None:
    kept(path, WRONG, trained("none", [5.0, 4.25], steps=2))
    _, training, golden = fa2("history").splitlines()
    assert training.endswith("train:preset=tiny,gate=none,steps=2  2 steps, loss 4.2500")
    assert "  2 ms  fa2  " in training
    assert golden.endswith("fa2_backward  golden:torch/T0031_hd16_causal")
    assert len(fa2("history", "--kind", "golden").splitlines()) == 2
    shown = fa2("history", "last")
    assert "steps  2 of 2, last loss 4.2500" in shown
    assert "preset  tiny: 2 blocks, C 48, context 32" in shown
    assert "kernels  fa2_forward_small, fa2_backward_dq" in shown
    assert "packs it up" not in shown
    shown = fa2("history", golden.split()[0])
    assert "dq: worst 31.5, 2 over the tolerance" in shown
    assert "    dq: 2 of 64 off" in shown


def test_the_last_run_to_pack_up_is_one_that_can_be_repeated(path: Path) -> None:
    kept(path, WRONG, trained("none", [5.0, 4.25], steps=2))
    with pytest.raises(CaseError, match="has no run 'last'"):
        fa2("repro", "last")
    run, report = finished()
    keep(path, (run, report))
    kept(path, WRONG)
    assert run.id[:8] in fa2("repro", "last")


def test_an_old_file_opens_for_reading_first_and_keeps_its_rows(old: Path) -> None:
    assert version(old) == 1
    history = History(old)
    wrong, right = history.rows()
    assert (right["case"], right["status"], right["worst"]) == (CASE, "pass", 0.25)
    assert (wrong["run"], wrong["status"], wrong["worst"]) == ("b" * 16, "fail", 7.5)
    assert (wrong["steps"], wrong["loss"], wrong["kind"]) == (None, None, "run")
    found = history.get("b" * 16)
    assert found is not None
    assert found.report["message"] == "it is a fail"
    assert history.outputs(found).keys() == {"o", "lse", "dq", "dk", "dv"}
    assert history.texts("b" * 16) == {"fa2_forward.wgsl": "// as it was\n"}
    assert version(old) == len(MIGRATIONS)
    assert list(old.parent.glob("*damaged*")) == []


def test_an_old_file_takes_new_rows_beside_its_own(old: Path) -> None:
    history = kept(old, WRONG)
    assert [row["kind"] for row in history.rows()] == ["golden", "run", "run"]
    assert history.delete("a" * 16)
    assert len(history.rows()) == 2


def test_an_old_file_that_cannot_be_written_says_so_with_the_way_out(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("server.history.opened", refused)
    with pytest.raises(
        HistoryError, match=r"is of an older version and cannot be brought up to.*try again"
    ):
        History(old).rows()
    assert version(old) == 1
