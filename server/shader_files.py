"""Shader files by their path under ``static/shaders/``, for texts that stand in for them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from server.errors import CaseError


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


def check(names: Iterable[str], static: Path) -> None:
    """Raises CaseError for a name that is no shader file. The name is compared, never opened."""
    names = list(names)
    known = shader_paths(static) if names else frozenset()
    for name in names:
        if name not in known:
            raise CaseError(
                f"shaders names {name[:80]!r}, which is no shader file; GET /api/shaders lists them"
            )
