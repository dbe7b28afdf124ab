"""`fa2 trace` without a browser: with which code it ends when there is nothing to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from kept_runs import report_of
from typer.testing import CliRunner

from server import cli_trace
from server.cli import app
from server.errors import CaseError
from server.report import Report, RunError

CASE = "forward:T=8,H=2,D=4"


class Silent:
    """A harness whose kernels tell nothing."""

    environment: Mapping[str, Any] = {"engine": "Fake 1", "adapter": {"vendor": "v"}}

    def __init__(self, status: str, kind: str) -> None:
        self.status, self.error = status, RunError(kind, "why") if kind else None

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def run(self, case: object, **_: Any) -> Report:
        return report_of(str(case), self.status, error=self.error)

    def last_trace(self) -> None:
        """Nothing was told."""


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        ("skip", "unsupported", 2),
        ("error", "compile", 1),
        ("error", "no-adapter", 3),
        ("error", "timeout", 4),
        ("error", "device-lost", 4),
        ("fail", "", 1),
        ("pass", "", 3),
    ],
)
def test_a_trace_that_there_is_not_ends_as_the_run_would_and_never_with_0(
    monkeypatch: pytest.MonkeyPatch, status: str, kind: str, code: int
) -> None:
    monkeypatch.setattr(cli_trace, "Harness", lambda **_: Silent(status, kind))
    done = CliRunner().invoke(app, ["trace", CASE])
    assert done.exit_code == code, done.output
    assert f"it is a {status}" in done.output or status == "pass"
    assert ("Not traced: the kernels told nothing" in done.output) == (status in ("pass", "fail"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([CASE, "--tile=8"], "i_tile=8 must be below 8"),
        (["forward:T=65537,D=8"], "128 rows of 65537 keys, 8388736 scores, at most 8388608"),
        ([CASE, "--server=http://127.0.0.1:9"], "name the page with --page"),
        (["my.wgsl"], "a kernel of your own tells its values through dbg() in `fa2 check`"),
    ],
)
def test_what_cannot_be_traced_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    def never(**_: Any) -> Silent:
        raise AssertionError("a browser was started")

    monkeypatch.setattr(cli_trace, "Harness", never)
    done = CliRunner().invoke(app, ["trace", *words])
    assert isinstance(done.exception, CaseError), done.output
    assert says in done.exception.message


def test_a_trace_runs_where_a_run_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def harness(**options: Any) -> Silent:
        asked.update(options)
        return Silent("skip", "unsupported")

    monkeypatch.setattr(cli_trace, "Harness", harness)
    elsewhere = {
        "cdp": "http://h:1",
        "playwright-ws": "ws://h:2",
        "page": "p",
        "server": "http://h",
    }
    CliRunner().invoke(app, ["trace", CASE, *(f"--{name}={at}" for name, at in elsewhere.items())])
    assert {name: asked[name.replace("-", "_")] for name in elsewhere} == elsewhere
