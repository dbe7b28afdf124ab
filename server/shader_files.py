"""Shader files by their path under ``static/shaders/``, for texts that stand in for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from server.errors import CaseError

MAX_TEXT = 256 << 10
"""Most bytes of a WGSL text that comes from outside: what a run takes, a repro can hold."""


def shader_paths(static: Path) -> frozenset[str]:
    """The paths of all shader files, with ``/`` between folders.

    A link that leads out of the folder is none: pages are not served it, and what it leads to is
    not to be copied into histories and repros.

    >>> from server.paths import STATIC
    >>> "common/params.wgsl" in shader_paths(STATIC)
    True
    """
    folder = static / "shaders"
    inside = folder.resolve()
    return frozenset(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.wgsl")
        if not path.is_symlink() or path.resolve().is_relative_to(inside)
    )


def texts(static: Path) -> dict[str, bytes]:
    """The contents of all shader files, by path. A file that goes away meanwhile is left out."""
    found = {}
    for path in sorted(shader_paths(static)):
        with suppress(OSError):
            found[path] = (static / "shaders" / path).read_bytes()
    return found


def digests(static: Path) -> dict[str, str]:
    """The SHA-256 of all shader files, hex, by path."""
    return {path: hashlib.sha256(text).hexdigest() for path, text in texts(static).items()}


def text_bytes(text: str) -> int:
    """As UTF-8, in which every text is stored. Half a surrogate pair, which none of them takes, is
    for others to refuse."""
    return len(text.encode("utf-8", "surrogatepass"))


def check(shaders: Mapping[str, str], static: Path) -> None:
    """Raises CaseError for a name that is no shader file, and for a text that is too long.

    The name is compared, never opened.
    """
    known = shader_paths(static) if shaders else frozenset()
    for name, text in shaders.items():
        if name not in known:
            raise CaseError(
                f"shaders names {name[:80]!r}, which is no shader file; GET /api/shaders lists them"
            )
        if (size := text_bytes(text)) > MAX_TEXT:
            raise CaseError(f"the text for {name} has {size} bytes; at most {MAX_TEXT} are taken")
