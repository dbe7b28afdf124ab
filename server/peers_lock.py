"""The libraries that `fa2 bench --peers` runs beside our kernels: exact versions, exact bytes.

They are no dependency of anything here. The lock names the few files of each npm package that a
page needs, with their SHA-256, and the integrity of the package as npm counts it, so that a folder
that was filled elsewhere is worth as much as one that npm has just filled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from server.errors import CaseError
from server.paths import PACKAGE

LOCK = PACKAGE / "peers.lock.json"

TITLES = {"ort": "onnxruntime-web", "jax": "jax-js", "tfjs": "TensorFlow.js"}
"""The peers by the names that ``--peers`` takes."""


@dataclass(frozen=True)
class Package:
    """One npm package of a peer; ``files``: path in the package → SHA-256, hexadecimal."""

    peer: str
    name: str
    version: str
    license: str
    integrity: str  # of the tarball, "sha512-BASE64" as npm writes it
    files: dict[str, str]

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


@cache
def packages() -> tuple[Package, ...]:
    """All of them, in the order in which a page loads them."""
    found = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    return tuple(Package(**package) for package in found)


def of(peers: Iterable[str]) -> list[Package]:
    """The packages of these peers."""
    wanted = set(peers)
    return [package for package in packages() if package.peer in wanted]


def versions(peer: str) -> str:
    """What a report says of a peer: its packages with their versions.

    >>> versions("jax")
    '@jax-js/jax@0.1.25'
    """
    return ", ".join(package.spec for package in of([peer]))


def parse(text: str) -> list[str]:
    """The peers that ``--peers`` names: "all", or some with commas between. CaseError otherwise.

    >>> parse("jax,ort"), parse("all")
    (['ort', 'jax'], ['ort', 'jax', 'tfjs'])
    """
    words = [word.strip() for word in text.split(",")]
    if words == ["all"]:
        return list(TITLES)
    for word in words:
        if word not in TITLES:
            raise CaseError(
                f"--peers names {word!r}; it takes all, or some of {', '.join(TITLES)} with commas "
                "between"
            )
    return [peer for peer in TITLES if peer in words]


def wrong_files(folder: Path, package: Package) -> list[str]:
    """What the folder lacks of a package, or has otherwise than the lock says; empty if it fits."""
    return [
        f"{package.name}/{name}"
        for name, digest in package.files.items()
        if sha256(folder / package.name / name) != digest
    ]


def sha256(path: Path) -> str | None:
    """Hexadecimal; None for a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def size_bytes(folder: Path, chosen: Sequence[Package]) -> int:
    """Of all files that the lock names."""
    return sum((folder / p.name / name).stat().st_size for p in chosen for name in p.files)
