"""Writing a file so that a reader sees the old text or the new one, never half of it."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 ``text`` to ``path``; missing folders are made. Raises OSError."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``; missing folders are made. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target: a rename is atomic only within one file system.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes it private; a report is not
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def try_place(path: Path) -> None:
    """Raises the OSError that writing ``path`` would, before there is anything to write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
