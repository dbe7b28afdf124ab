"""Tables of tuned tiles, one JSON file an adapter, kept where this user's programs keep their data.

A table is what ``fa2 tune`` measured on that adapter and what the library tries first::

    {"adapter": {"vendor": …}, "engine": …, "written": …, "measured": […],
     "kernels": {"fa2_forward": [{"maxD": 64, "TX": 8, …, "why": …}]},
     "choices": [{"op": "forward", "maxT": 128, "kernel": "fa2_forward"}]}
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.atomic import write_text
from server.errors import CaseError
from server.strict_json import loads

NAMES = ("vendor", "architecture", "device", "description")
"""What tells one adapter from another."""

WAY_OUT = "delete it, and run `fa2 tune` again"

_SYSTEM: str = sys.platform  # a plain str: type checkers would drop the other systems' branches


def tuned_folder() -> Path:
    """FA2_TUNED_DIR, or a folder in this user's data folder."""
    if named := os.environ.get("FA2_TUNED_DIR"):
        return Path(named)
    return data_folder() / "tuned"


def data_folder() -> Path:
    """Where XDG, macOS and Windows want data that is worth keeping."""
    if _SYSTEM == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    elif _SYSTEM == "darwin":
        base = Path.home() / "Library/Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    return base / "fa2"


def path_of(adapter: Mapping[str, Any], folder: Path) -> Path:
    """The file of an adapter.

    >>> path_of({"vendor": "nvidia", "architecture": "hopper"}, Path("tuned")).name
    'nvidia-hopper-bf412b1e.json'
    """
    names = [str(adapter.get(name) or "") for name in NAMES]
    words = re.sub(r"[^a-z0-9]+", "-", " ".join(filter(None, names[:3])).lower()).strip("-")
    # The words are for people; the digest tells drivers and devices apart that share them.
    digest = hashlib.sha256("\0".join(names).encode()).hexdigest()[:8]
    return folder / f"{words[:60] or 'adapter'}-{digest}.json"


def load(adapter: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table of an adapter; {} if it was never tuned.

    Raises as ``read`` does, and CaseError for one that says it is of another adapter.
    """
    path = path_of(adapter, folder)
    table = read(path)
    if other_adapter(table, adapter) is not None:
        raise CaseError(f"{path} says that it is of another adapter; {WAY_OUT}")
    return table


def read(path: Path, way_out: str = WAY_OUT) -> dict[str, Any]:
    """The table in a file; {} if there is none.

    Raises CaseError for a file that is no table, naming it and the way out.
    """
    try:
        table = loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CaseError(f"{path} cannot be read: {error}; {way_out}") from error
    if not isinstance(table, dict) or not isinstance(table.get("adapter", {}), dict):
        raise CaseError(f"{path} holds no table; {way_out}")
    return table


def other_adapter(table: Mapping[str, Any], adapter: Mapping[str, Any]) -> dict[str, Any] | None:
    """The adapter that a table is of, if it says so and it is not this one."""
    said: dict[str, Any] | None = table.get("adapter")
    same = said is None or all((said.get(n) or "") == (adapter.get(n) or "") for n in NAMES)
    return None if same else said


def save(table: Mapping[str, Any], path: Path) -> None:
    """Writes a table, whole or not at all. Raises CaseError for a path that cannot be written."""
    try:
        write_text(path, json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise CaseError(f"{path} cannot be written: {error}; name another with --out") from error
