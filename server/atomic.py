"""Writing a file so that a reader sees the old text or the new one, never half of it.

What stands at the path stays what it is: a link leads to the file that is written, a file keeps its
mode, and into a pipe or a device the bytes are simply written.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 ``text`` to ``path``; missing folders are made. Raises OSError."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``; missing folders are made. Raises OSError."""
    known = _stat(path)
    if known is not None and (stream := _own_stream(known)) is not None:
        with os.fdopen(os.dup(stream), "wb") as file:  # which shares our place in it
            file.write(data)
    elif known is not None and not stat.S_ISREG(known.st_mode):
        with open(path, "wb") as file:
            file.write(data)
    else:
        _replace(Path(os.path.realpath(path)), data, known)


def try_place(path: Path) -> None:
    """Raises the OSError that writing ``path`` would, before there is anything to write."""
    known = _stat(path)
    if known is None or stat.S_ISREG(known.st_mode):
        path = Path(os.path.realpath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        part = _part(path)
        part.open("xb").close()  # Windows removes no file that is open
        part.unlink()
    elif stat.S_ISDIR(known.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    elif not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _replace(path: Path, data: bytes, known: os.stat_result | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    try:
        with open(part, "xb") as file:
            file.write(data)
        if known is not None:
            os.chmod(part, stat.S_IMODE(known.st_mode))
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _part(path: Path) -> Path:
    """Beside the target: a rename is atomic only within one file system."""
    return path.with_name(f".{secrets.token_hex(8)}.part")


def _stat(path: Path) -> os.stat_result | None:
    """Of what a link leads to; None where there is nothing yet."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _own_stream(known: os.stat_result) -> int | None:
    """The descriptor of our output that goes there, as ``/dev/stdout`` and what it was sent into.

    Another file in its place, or another position in it, would lose what was printed.
    """
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            same = os.path.samestat(os.fstat(number), known)
        except OSError:  # it is closed
            continue
        if same:
            if stream is not None:
                stream.flush()
            return number
    return None
