"""The texts that attention may be made of: the shader files and the registry, as they lie now."""

from __future__ import annotations

from pathlib import Path

from server.shader_files import shader_paths

NOT_ATTENTION = ("train/", "bench/")
REGISTRY = "kernels.json"  # which kernels and tiles there were to choose from


class ShaderTexts:
    """Reads a file again only when its time or size has changed."""

    def __init__(self, static: Path) -> None:
        self._static = static
        self._registry = static / "js" / "attention" / REGISTRY
        self._known: dict[str, tuple[tuple[int, int], str]] = {}

    def all(self) -> dict[str, str]:
        """Texts by path, ``/`` between folders; what cannot be read is left out."""
        found = {}
        for path in sorted(shader_paths(self._static)):
            if path.startswith(NOT_ATTENTION):
                continue
            if (text := self._read(self._static / "shaders" / path, path)) is not None:
                found[path] = text
        if (text := self._read(self._registry, REGISTRY)) is not None:
            found[REGISTRY] = text
        return found

    def _read(self, file: Path, path: str) -> str | None:
        try:
            stat = file.stat()
            mark = (stat.st_mtime_ns, stat.st_size)
            if path not in self._known or self._known[path][0] != mark:
                self._known[path] = (mark, file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):  # being saved, or just deleted
            return None
        return self._known[path][1]
