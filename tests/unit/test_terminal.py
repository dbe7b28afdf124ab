"""What others wrote is shown on a terminal, and never obeyed by it."""

from __future__ import annotations

import io
import os
import sys

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from server import cli, console
from server.errors import CaseError
from server.terminal import VisibleConsole, visible

HOSTILE = "\x1b]0;mine\x07\x1b[2J\x9b31m\r\b\x7f"


def test_a_console_shows_control_characters_in_texts_and_in_tables() -> None:
    made: Console = console.make_console()
    assert isinstance(made, VisibleConsole)
    shown = VisibleConsole(file=io.StringIO(), force_terminal=True, color_system="standard")
    table = Table("head")
    table.add_row(HOSTILE)
    for thing in (HOSTILE, Text(HOSTILE, style="red"), table):
        shown.print(thing)
    assert isinstance(shown.file, io.StringIO)
    written = shown.file.getvalue()
    assert "\x1b[31m" in written  # its own colours work
    assert "␛]0;mine" in written
    for sign in ("\x1b]", "\x1b[2J", "\x9b", "\r", "\b", "\x07", "\x7f"):
        assert sign not in written, repr(sign)


def test_an_error_shows_control_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raising() -> None:
        raise CaseError(f"bad {HOSTILE}")

    monkeypatch.setattr(cli, "app", raising)
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == f"fa2: bad {visible(HOSTILE)}\n"


def test_an_encoding_without_greek_letters_ends_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="cp1252"))
    monkeypatch.setattr(cli, "app", lambda: print("κ = 4"))
    cli.main()
    sys.stdout.flush()
    assert raw.getvalue().strip() == b"? = 4"


def test_whoever_stops_reading_hears_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stdout = os.fdopen(writer, "w", encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(cli, "app", lambda: print("more than `head` wants"))
    cli.main()
    stdout.close()
