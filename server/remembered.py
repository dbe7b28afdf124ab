"""The failures of the last `fa2 run` in this folder, for --rerun-failed.

They lie in the user's cache folder, one small JSON file a working directory, so that nothing is
written into a checkout and two checkouts do not mix.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from server.atomic import write_text

_SYSTEM: str = sys.platform  # a plain str: type checkers would drop the other systems' branches


def cache_folder() -> Path:
    """Where this user's programs keep what can be lost: XDG, macOS and Windows rules."""
    if _SYSTEM == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "fa2"
    if _SYSTEM == "darwin":
        return Path.home() / "Library/Caches/fa2"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fa2"


def failures() -> list[str]:
    """Case ids that failed last time, in the order they ran; empty if none or never."""
    try:
        ids = json.loads(_file().read_text(encoding="utf-8"))["failed"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [case for case in ids if isinstance(case, str)] if isinstance(ids, list) else []


def remember(ran: Iterable[str], failed: Iterable[str]) -> None:
    """What ``ran`` replaces what was known of it; failures that did not run again are kept.

    A cache that cannot be written is no reason to fail a run: then nothing is remembered.
    """
    ran, failed = list(ran), list(failed)
    kept = [case for case in failures() if case not in set(ran)]
    text = json.dumps({"folder": str(Path.cwd()), "failed": [*kept, *failed]}, indent=1)
    try:
        write_text(_file(), text + "\n")
    except OSError as error:
        print(f"fa2: the failures could not be remembered: {error}", file=sys.stderr)


def _file() -> Path:
    here = hashlib.sha256(str(Path.cwd()).encode()).hexdigest()[:16]
    return cache_folder() / "failed" / f"{here}.json"
