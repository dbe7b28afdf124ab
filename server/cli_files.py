"""Files that a command was asked to write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.atomic import try_place, write_text
from server.errors import CaseError


def try_places(*paths: Path | None) -> None:
    """Raises CaseError for those that ``write_each`` could not write, before a browser starts."""
    write_each(*((path, try_place) for path in paths))


def write_each(*files: tuple[Path | None, Callable[[Path], object]]) -> None:
    """Calls each function with its path, if there is one.

    A file that cannot be written does not lose the others; then CaseError names it.
    """
    problems = []
    for path, write in files:
        try:
            if path is not None:
                write(path)
        except OSError as error:
            problems.append(f"{path} cannot be written: {error.strerror or error}")
    if problems:
        raise CaseError("; ".join(problems))


def write_json(path: Path | None, value: Any) -> None:
    """Likewise, a value as JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    write_each((path, lambda file: write_text(file, text + "\n")))
