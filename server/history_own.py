"""The files of a kernel that is not ours, as the history and a repro name them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FOLDER = "own/"
TEXTS = ("texts", "files")


def texts_of(own: Mapping[str, Any] | None) -> dict[str, str]:
    """Its texts and its manifest by path, all under ``own/``; {} for a kernel of ours."""
    if own is None:
        return {}
    found = {
        f"{FOLDER}{path}": str(text) for key in TEXTS for path, text in (own.get(key) or {}).items()
    }
    rest = without_texts(own)
    found[f"{FOLDER}manifest.json"] = json.dumps(rest.get("manifest", rest), indent=1)
    return found


def without_texts(own: Mapping[str, Any]) -> dict[str, Any]:
    """All that is no text."""
    return {key: value for key, value in own.items() if key not in TEXTS}
