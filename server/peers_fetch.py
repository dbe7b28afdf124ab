"""A folder with the peers' files: looked at first, filled through npm where it must be.

``npm pack`` brings a package as npm is configured on this machine, and runs none of its scripts.
What comes is used only if it has the bytes that the lock names.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from server import peers_lock
from server.atomic import try_place, write_bytes
from server.errors import CaseError
from server.peers_lock import Package
from server.remembered import cache_folder

VARIABLE = "FA2_PEERS_DIR"
NPM_S = 600.0

Say = Callable[[str], None]


ELSEWHERE = (
    "fill the folder on a machine with a network (`fa2 bench --peers` does it there), copy it "
    f"here, and name it by --peers-dir or {VARIABLE}"
)
"""The way out where npm cannot fetch."""


class NoPeers(CaseError):
    """The peers' files are not here and cannot be fetched."""


def default_folder() -> Path:
    """The folder that FA2_PEERS_DIR names, else one in this user's cache."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else cache_folder() / "peers"


def ensure(folder: Path, peers: Sequence[str], say: Say = lambda line: None) -> None:
    """Fills ``folder`` with what these peers need, unless it is there; ``say`` hears of each fetch.

    Raises NoPeers, which says how to fill the folder elsewhere.
    """
    for package in peers_lock.of(peers):
        lacking = peers_lock.wrong_files(folder, package)
        if not lacking:
            continue
        corrupt = [name for name in lacking if (folder / name).exists()]
        missing = f"{package.spec} is not in {folder}"
        if corrupt:
            lock = peers_lock.LOCK.name
            missing = f"{', '.join(corrupt)} in {folder} has other bytes than {lock} names"
            say(missing)
        npm = shutil.which("npm")
        if npm is None:
            raise NoPeers(
                f"{missing}, and there is no npm to fetch it with. Install Node.js, or {ELSEWHERE}"
            )
        with _written(folder):
            try_place(folder / package.name / "a file")  # before it is fetched
        say(f"fetching {package.spec} through npm into {folder}")
        with tempfile.TemporaryDirectory(prefix="fa2-npm-") as scratch:
            unpack(_packed(npm, package, Path(scratch), missing), package, folder)


def unpack(tarball: Path, package: Package, folder: Path) -> None:
    """Takes the files that the lock names out of a package. NoPeers if it is not as locked."""
    digest = hashlib.sha512(tarball.read_bytes()).digest()
    found = "sha512-" + base64.b64encode(digest).decode()
    if found != package.integrity:
        raise NoPeers(
            f"npm brought a {package.spec} that is not the locked one: its integrity is {found}, "
            f"the lock ({peers_lock.LOCK.name}) has {package.integrity}. Nothing of it was used"
        )
    with tarfile.open(tarball) as archive:
        for name in package.files:
            try:
                source = archive.extractfile(f"package/{name}")
            except KeyError:
                source = None
            if source is None:
                raise NoPeers(f"{package.spec} has no file {name}; the lock is wrong")
            with _written(folder):
                write_bytes(folder / package.name / name, source.read())
    wrong = peers_lock.wrong_files(folder, package)
    if wrong:
        raise NoPeers(f"{', '.join(wrong)}: not the bytes that {peers_lock.LOCK.name} names")


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """What cannot be written there is NoPeers."""
    try:
        yield
    except OSError as error:
        raise NoPeers(
            f"{folder} cannot hold the peers' files: {error.strerror or error}; name another "
            f"folder by --peers-dir or {VARIABLE}"
        ) from None


def _packed(npm: str, package: Package, scratch: Path, missing: str) -> Path:
    command = [npm, "pack", package.spec, "--ignore-scripts", "--loglevel=error"]
    command += ["--pack-destination", str(scratch)]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=NPM_S, cwd=scratch
        )
    except subprocess.TimeoutExpired:
        raise NoPeers(
            f"{missing}, and npm brought nothing within {NPM_S:g} s. Try again, or {ELSEWHERE}"
        ) from None
    except OSError as error:
        raise NoPeers(f"{npm} cannot be run: {error.strerror or error}") from None
    found = sorted(scratch.glob("*.tgz"))
    if done.returncode != 0 or not found:
        raise NoPeers(
            f"{missing}, and `npm pack {package.spec}` failed: "
            f"{reason(done.stderr or done.stdout)}. Without a network, {ELSEWHERE}"
        )
    return found[0]


def reason(said: str) -> str:
    """What npm says of a failure, without the stack, the error's fields and where its log lies.

    >>> reason("npm error code ENET\\nnpm error errno -3\\nnpm error failed\\nnpm error   at f.js")
    'code ENET · failed'
    """
    lines = [line.removeprefix("npm error").removeprefix(" ") for line in said.splitlines()]
    told = [
        line.strip()
        for line in lines
        if line.strip() not in ("", "}")
        and not line.startswith((" ", "syscall ", "errno ", "A complete log"))
    ]
    return " · ".join(told[:4])[:1000] or "it said nothing"
