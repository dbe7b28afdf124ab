"""The line that runs a kernel of one's own again: the folder and the options are not lost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from server import cli_check, cli_compare
from server.cases import Case
from server.cli import app
from server.errors import ManifestError
from server.report import Done, Report, failed_to_run

CASE = "forward:T=8,D=4"
TEXT = """
@group(0) @binding(0) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(1) fn main() { o[0] = 1.0; }
"""


class Failing:
    """A harness on which every kernel fails, as the judge says it."""

    def __init__(self) -> None:
        self.environment: dict[str, Any] = {}
        self.last_outputs: dict[str, Any] = {}

    def __enter__(self) -> Failing:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def run(self, case: Case, *, own: Any = None, **_: Any) -> Report:
        source = None if own is None else next(iter(own["files"]))
        return failed_to_run(case, "device", "lost", Done(status="error", source=source))


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a folder beside the one that commands run in, with a name that wants quotes."""
    for module in (cli_check, cli_compare):
        monkeypatch.setattr(module, "Harness", lambda *_, **__: Failing())
    (tmp_path / "here").mkdir()
    (tmp_path / "my kernels").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = Path("../my kernels/own.wgsl")
    path.write_text(TEXT)
    return path


def again(said: str) -> list[list[str]]:
    lines = [line.strip() for line in said.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("again: ")]


@pytest.mark.parametrize(
    "options",
    [
        ["--grid", "T", "--grid", "B * H"],
        ["--grid", "T", "--outputs", "o"],
        ["--manifest", "../my kernels/other.json"],
    ],
)
def test_what_check_prints_is_what_it_was_given(kernel: Path, options: list[str]) -> None:
    Path("../my kernels/other.json").write_text('{"grid": ["T"]}')
    words = ["check", str(kernel), *options, CASE]
    said = CliRunner().invoke(app, words).stdout
    assert again(said) == [["fa2", *words]]
    assert again(CliRunner().invoke(app, again(said)[0][1:]).stdout) == again(said)


def test_compare_keeps_the_folder(kernel: Path) -> None:
    kernel.with_suffix(".json").write_text('{"grid": ["T"]}')
    said = CliRunner().invoke(app, ["compare", CASE, str(kernel), "fa2"]).stdout
    assert again(said)[0] == ["fa2", "check", str(kernel), CASE]


def test_outputs_on_the_command_line_are_held_against_what_there_is(kernel: Path) -> None:
    done = CliRunner().invoke(app, ["check", str(kernel), "--grid", "T", "--outputs", "o,dq"])
    assert isinstance(done.exception, ManifestError)
    assert done.exception.message == "own.wgsl: outputs: a forward has no dq; it has o, lse, attn"
