"""`fa2 tune` without a browser: what it prints and writes, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from fake_tune import CASE, Machine, found

from server import cli_tune, tuned
from server.bench_report import BenchReport, failed
from server.cases import Case
from server.errors import CaseError, NoBrowser
from server.report import RunError
from server.tune import table

ADAPTER = {"vendor": "none", "fallback": True}


class FakeHarness(Machine):
    """The machine as `fa2 tune` starts it."""

    @property
    def environment(self) -> dict[str, Any]:
        return {"engine": "Fake 1", "adapter": ADAPTER}

    def __enter__(self) -> FakeHarness:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def bench(self, case: Case, *, samples: int, tuned: Mapping[str, Any]) -> BenchReport:
        assert samples == 40
        return self.measure(case, tuned)


def test_the_command_tells_each_case_and_writes_where_the_page_will_ask(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FA2_TUNED_DIR", str(tmp_path))
    monkeypatch.setattr(cli_tune, "Harness", lambda *_, **__: FakeHarness())
    monkeypatch.setattr(cli_tune, "choices", lambda op: ["plain"])
    cli_tune.tune([str(CASE)], samples=40, rounds=5)
    told = capsys.readouterr().out
    assert "17 ms -> 1 ms (17.00x, gpu time)" in told
    assert "plain TX=16 TY=4" in told
    path = tuned.path_of(ADAPTER, tmp_path)
    assert str(path) in told.replace("\n", "")
    assert tuned.read(path)["kernels"]["plain"][0]["TX"] == 16
    other = tmp_path / "deep" / "own.json"
    cli_tune.tune([str(CASE)], out=other, samples=40, rounds=1)
    assert tuned.read(other)["measured"][0]["case"] == str(CASE)


def tune_with(
    monkeypatch: pytest.MonkeyPatch, out: Path, answer: Callable[[Case], object], *cases: object
) -> int:
    """The exit code where ``answer(case)`` may raise, or give a kind of error for the case."""

    class Trying(FakeHarness):
        def bench(self, case: Case, *, samples: int, tuned: Mapping[str, Any]) -> BenchReport:
            kind = answer(case)
            if kind == "short":
                report = self.measure(case, tuned)
                assert report.timing is not None
                return replace(report, timing=replace(report.timing, ns=None))
            if kind:
                return failed(case, None, RunError(str(kind), "so it ended"))
            return self.measure(case, tuned)

    monkeypatch.setattr(cli_tune, "Harness", lambda *_, **__: Trying())
    monkeypatch.setattr(cli_tune, "choices", lambda op: ["plain"])
    try:
        cli_tune.tune([str(case) for case in cases], out=out, samples=40)
    except typer.Exit as ended:
        return ended.exit_code
    return 0


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("timeout", 4),
        ("device-lost", 4),
        ("no-adapter", 3),
        ("page", 1),
        ("short", 1),
        ("unsupported", 2),
    ],
)
def test_a_named_case_that_is_not_timed_decides_the_exit_code_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, code: int
) -> None:
    out, bad = tmp_path / "t.json", CASE.replace(seed=1)

    def answer(case: Case) -> str:
        return kind if case == bad else ""

    assert tune_with(monkeypatch, out, answer, bad) == code
    assert not out.exists()
    assert tune_with(monkeypatch, out, answer, bad, CASE) == code
    assert [one["case"] for one in tuned.read(out)["measured"]] == [str(CASE)]


@pytest.mark.parametrize("way", [KeyboardInterrupt, NoBrowser])
def test_what_was_measured_is_kept_when_the_rest_is_not_reached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: type[BaseException]
) -> None:
    out, last = tmp_path / "t.json", CASE.replace(seed=1)

    def answer(case: Case) -> None:
        if case == last:
            raise way("the end")

    if way is KeyboardInterrupt:
        assert tune_with(monkeypatch, out, answer, CASE, last) == 130
    else:
        with pytest.raises(way):
            tune_with(monkeypatch, out, answer, CASE, last)
    assert [one["case"] for one in tuned.read(out)["measured"]] == [str(CASE)]


def test_a_table_that_cannot_be_written_or_read_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no table")
    for out in (tmp_path, tmp_path / "file" / "t.json", tmp_path / "file"):
        with pytest.raises(CaseError, match="cannot be"):
            tune_with(monkeypatch, out, lambda case: pytest.fail("measured"), CASE)


def test_what_an_earlier_table_has_of_another_version_is_told_and_written_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, other = tmp_path / "t.json", CASE.replace(seed=1)
    old = table([replace(found(Machine()), case=other)], ADAPTER, "E")  # of a kernel `plain`
    tuned.save(old, out)
    assert tune_with(monkeypatch, out, lambda case: "unsupported", CASE) == 2
    assert f"dropped from the table: {other}: there is no kernel plain" in capsys.readouterr().out
    assert tuned.read(out)["measured"] == []


def test_the_choices_are_the_kernels_of_the_registry_without_the_baseline() -> None:
    names = cli_tune.choices("backward")
    assert "fa2_backward" in names
    assert "attn_backward" not in names
    assert not set(names) & set(cli_tune.choices("forward"))
