"""Tells the pages when a shader file is saved, so that a kernel's author sees the new verdict.

Only ``static/shaders/`` is watched, by the operating system's own means (inotify and the like).
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from watchfiles import Change, awatch

from server.pages import Pages
from server.shader_files import digests

log = logging.getLogger("server")

QUIET_MS = 20  # an editor writes a file in several steps; what follows within this belongs to it
LONGEST_MS = 200  # then the pages are told, however much is still being written


class ShaderWatch:
    """Sends the event ``shader {path, sha256}``; ``sha256`` is None when the file is gone."""

    def __init__(self, static: Path, pages: Pages) -> None:
        self._static, self._pages = static, pages
        self._known: dict[str, str] = {}

    async def run(self) -> None:
        """Until it is cancelled, on the loop that the pages live on. Where files cannot be watched
        (too many watches on this machine, a file system without notices) it ends with a warning.
        """
        folder = self._static / "shaders"
        if not folder.is_dir():
            return
        self._known = await asyncio.to_thread(digests, self._static)
        try:
            async for _ in awatch(
                folder, watch_filter=_is_shader, step=QUIET_MS, debounce=LONGEST_MS
            ):
                await self._look()
        except (OSError, RuntimeError) as error:  # watchfiles raises both
            log.warning("%s is not watched, saved shaders need a reload: %s", folder, error)

    async def _look(self) -> None:
        """Compares contents: a file that was touched, or saved as it was, is no news."""
        found = await asyncio.to_thread(digests, self._static)
        before, self._known = self._known, found
        for path in sorted(before.keys() | found.keys()):
            if before.get(path) != found.get(path):
                for page in self._pages.all():
                    told = {"path": path, "sha256": found.get(path)}
                    self._pages.send(page.id, "shader", told)


def _is_shader(_change: Change, path: str) -> bool:
    return path.endswith(".wgsl")
