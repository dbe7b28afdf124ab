"""Reads zip files that anybody may have made: bounded, by name, into memory only.

A zip file can name a path outside of its folder, claim another size than it has, repeat a name, or
hold a thousand times what it weighs. Nothing here is extracted to disk, and every size is bounded
before it is read and again while it is.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable

from server.errors import CaseError

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_zip(
    data: bytes, *, what: str, most_of: Callable[[str], int | None], files: int, total: int
) -> dict[str, bytes]:
    """The files in a zip by name.

    ``most_of(name)``: how many bytes a file of that name may have; None refuses the name.
    ``files``, ``total``: how many files, and bytes in all. Raises CaseError, with the reason.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > files:
                raise CaseError(f"{what} holds {len(entries)} files; {files} are taken")
            found: dict[str, bytes] = {}
            left = total
            for entry in entries:
                name = entry.filename
                if name in found:
                    raise CaseError(f"{what} holds {name[:80]!r} twice")
                most = most_of(name)
                if most is None:
                    raise CaseError(f"{what} holds {name[:80]!r}, which belongs in none")
                found[name] = _read(archive, entry, min(most, left), what)
                left -= len(found[name])
            return found
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,  # encrypted
        ValueError,
        OverflowError,
    ) as error:
        if isinstance(error, CaseError):
            raise
        raise CaseError(f"{what} is no zip file that can be read: {error}") from None


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int, what: str) -> bytes:
    name = entry.filename[:80]
    if entry.flag_bits & 1:
        raise CaseError(f"{what}: {name!r} is encrypted")
    if entry.compress_type not in METHODS:
        raise CaseError(f"{what}: {name!r} is compressed in a way that is not deflate")
    if entry.file_size > most:
        raise CaseError(f"{what}: {name!r} has {entry.file_size} bytes; {most} are taken here")
    with archive.open(entry) as file:
        data = file.read(most + 1)  # the size above is only what the file says of itself
        if len(data) > most:
            raise CaseError(f"{what}: {name!r} has more than the {most} bytes that are taken here")
        if file.read(1):
            raise CaseError(f"{what}: {name!r} has more bytes than it says")
    return data
