"""A kernel that is not ours, as the history and a repro hold it: its files and the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FOLDER = "own/"
MANIFEST = f"{FOLDER}manifest.json"


def texts_of(own: Mapping[str, Any] | None) -> dict[str, str]:
    """Its files and its manifest by path, all under ``own/``; {} for a kernel of ours."""
    if own is None:
        return {}
    found = {f"{FOLDER}{name}": text for name, text in own["files"].items()}
    # For people, and for `fa2 check`; what is replayed is the manifest in the request.
    found[MANIFEST] = json.dumps(own["manifest"], indent=1, ensure_ascii=False) + "\n"
    return found


def without_texts(own: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """``{"name", "manifest", "files": their names}``; the kernel's own file comes first."""
    return None if own is None else {**own, "files": list(own["files"])}
