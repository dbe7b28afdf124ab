"""Files that a command was asked to write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from server.cli_files import write_each, write_json
from server.errors import CaseError


def test_a_file_that_cannot_be_written_is_named_and_does_not_lose_the_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "folder").mkdir()
    good, bad = tmp_path / "good.txt", tmp_path / "folder"

    def write(path: Path) -> None:
        path.write_text("here")

    with pytest.raises(CaseError, match="folder cannot be written: "):
        write_each((bad, write), (None, write), (good, write))
    assert good.read_text() == "here"


def test_json_is_text_that_people_read_and_every_parser_takes(tmp_path: Path) -> None:
    write_json(None, {})
    file = tmp_path / "new" / "it.json"
    write_json(file, {"κ": 4})
    assert file.read_text(encoding="utf-8") == '{\n  "κ": 4\n}\n'
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(file, {"x": float("nan")})
    assert json.loads(file.read_text()) == {"κ": 4}
