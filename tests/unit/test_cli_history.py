"""`fa2 history` and `fa2 repro` on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kept_runs import CASE, finished, keep
from typer.testing import CliRunner

from server.cli import app
from server.errors import CaseError
from server.repro_file import read_repro

OTHER = "backward:T=16,H=2,D=4"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "history.db"
    monkeypatch.setenv("FA2_HISTORY", str(path))
    monkeypatch.chdir(tmp_path)
    return path


def fa2(*words: str) -> str:
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_runs_are_lines_newest_first_each_with_its_whole_case(path: Path) -> None:
    keep(path, finished(), finished(OTHER, "fail", ratio=31.5))
    head, first, second = fa2("history").splitlines()
    assert head.split() == ["run", "when", "by", "status", "worst", "time", "kernel", "case"]
    assert " FAIL  " in first
    assert " 31.5  " in first
    assert first.endswith(f"fa2_forward  {OTHER}")
    assert second.endswith(CASE)


def test_filters_and_the_number_of_lines_are_options(path: Path) -> None:
    keep(path, finished(), finished(OTHER, "fail"), finished())
    assert len(fa2("history", "--limit", "1").splitlines()) == 2
    assert OTHER in fa2("history", "--status", "fail").splitlines()[1]
    assert len(fa2("history", "--case", "forward:*").splitlines()) == 3
    assert "no run is like that" in fa2("history", "--kernel", "wide")


def test_json_has_every_row_with_its_time(path: Path) -> None:
    keep(path, *(finished() for _ in range(3)))
    rows = json.loads(fa2("history", "--json"))
    assert [row["status"] for row in rows] == ["pass"] * 3
    assert rows[0]["finished"].endswith("+00:00")


def test_bars_stand_on_both_sides_of_the_limit(path: Path) -> None:
    keep(path, finished(ratio=0.1), finished(status="fail", ratio=100.0), finished(outputs={}))
    _, right, wrong = fa2("history", "--plot").splitlines()
    assert right.count("█") == 15
    assert "█│" not in right
    assert "│" in right
    assert wrong.count("█") == 29
    assert "┃" in wrong


def test_one_report_is_shown_with_its_circumstances(path: Path) -> None:
    run, report = finished(status="fail", shaders={"common/params.wgsl": "// mine\n"})
    keep(path, (run, report))
    shown = fa2("history", run.id[:6])
    assert shown.startswith(f"FAIL  {CASE}")
    assert "it is a fail" in shown
    assert "o: worst 0.25, 3 of 64 over the limit" in shown
    assert "edited  common/params.wgsl" in shown
    assert "outputs  kept" in shown
    assert json.loads(fa2("history", "last", "--json"))["report"]["status"] == "fail"


@pytest.mark.parametrize(
    "words",
    [["--status", "fail"], ["--kind", "bench"], ["--case", "f*"], ["--since", "7d"], ["--plot"]],
)
def test_a_run_by_its_name_takes_no_filter(path: Path, words: list[str]) -> None:
    keep(path, finished())
    with pytest.raises(CaseError, match="last is one run, which takes neither a filter nor"):
        fa2("history", "last", *words)


def test_an_empty_history_says_where_it_would_be(path: Path) -> None:
    assert str(path) in fa2("history").replace("\n", "")


def test_everything_is_forgotten_on_request_only_as_a_whole(path: Path) -> None:
    keep(path, finished(), finished())
    with pytest.raises(CaseError, match="takes no filter"):
        fa2("history", "--clear", "--status", "fail")
    assert "2 runs forgotten" in fa2("history", "--clear")
    assert "no runs yet" in fa2("history")


def test_a_history_that_is_off_says_who_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA2_HISTORY", "0")
    for words in (("history",), ("repro", "last")):
        with pytest.raises(CaseError, match="FA2_HISTORY says so"):
            fa2(*words)


def test_a_repro_is_named_after_its_run_or_as_one_says(path: Path) -> None:
    run, report = finished(status="fail")
    keep(path, (run, report))
    said = fa2("repro", "last")
    file = path.parent / f"fa2-fail-{run.id[:8]}.zip"
    assert file.name in said
    assert "with its outputs" in said
    assert str(read_repro(file).case) == CASE
    fa2("repro", run.id, "-o", "folder/mine.zip")
    assert read_repro(path.parent / "folder" / "mine.zip").asked.run == run.id
    with pytest.raises(CaseError, match="cannot be written"):
        fa2("repro", "last", "-o", f"{file}/below.zip")
