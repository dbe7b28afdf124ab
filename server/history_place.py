"""Where the history of runs lies: one SQLite file beside the tables that `fa2 tune` writes."""

from __future__ import annotations

import os
from pathlib import Path

from server.tuned import data_folder

VARIABLE = "FA2_HISTORY"
OFF = frozenset({"", "0", "off", "no", "false", "none"})
NAME = "history.db"


def history_file() -> Path | None:
    """FA2_HISTORY, a path or a word for off, else a file in this user's data folder; None = off."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return data_folder() / NAME
    return path_or_off(named)


def path_or_off(text: str) -> Path | None:
    """What FA2_HISTORY says.

    >>> path_or_off("off") is None, path_or_off("/tmp/h.db").name
    (True, 'h.db')
    """
    return None if text.strip().lower() in OFF else Path(text).expanduser()
