"""Which bytes of other libraries may run: the lock, and a folder filled through npm."""

from __future__ import annotations

import base64
import hashlib
import re
import stat
import sys
import tarfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from server import peers_fetch, peers_lock
from server.errors import CaseError
from server.peers_fetch import NoPeers
from server.peers_lock import Package

TEXT = b"export const answer = 42;\n"


def tarball(path: Path, content: bytes = TEXT) -> bytes:
    """An npm package with one file that is wanted and one that is not."""
    with tarfile.open(path, "w:gz") as archive:
        for name in ("package/dist/a.js", "package/dist/a.js.map"):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, BytesIO(content))
    return path.read_bytes()


def package(data: bytes, content: bytes = TEXT) -> Package:
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    files = {"dist/a.js": hashlib.sha256(content).hexdigest()}
    return Package("jax", "@some/lib", "1.2.3", "MIT", integrity, files)


def test_the_lock_names_exact_versions_and_digests_and_no_registry() -> None:
    assert {package.peer for package in peers_lock.packages()} == set(peers_lock.TITLES)
    for each in peers_lock.packages():
        assert re.fullmatch(r"\d+\.\d+\.\d+", each.version), each.name
        assert len(base64.b64decode(each.integrity.removeprefix("sha512-"))) == 64
        assert each.files
        for name, digest in each.files.items():
            assert re.fullmatch(r"[0-9a-f]{64}", digest), name
            assert not name.endswith(".map")
    assert "://" not in peers_lock.LOCK.read_text()


def test_an_unknown_peer_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(CaseError, match=r"'torch'; it takes all, or some of ort, jax, tfjs"):
        peers_lock.parse("jax,torch")
    for empty in ("", "jax,", " "):
        with pytest.raises(CaseError, match="--peers names ''"):
            peers_lock.parse(empty)


def test_only_the_locked_files_of_a_package_are_taken(tmp_path: Path) -> None:
    data = tarball(tmp_path / "a.tgz")
    folder = tmp_path / "peers"
    peers_fetch.unpack(tmp_path / "a.tgz", package(data), folder)
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert found == [Path("@some/lib/dist/a.js")]
    assert peers_lock.wrong_files(folder, package(data)) == []


def test_a_package_with_other_bytes_is_not_used(tmp_path: Path) -> None:
    data = tarball(tmp_path / "a.tgz")
    tarball(tmp_path / "b.tgz", b"alert(1)\n")
    with pytest.raises(NoPeers, match="not the locked one"):
        peers_fetch.unpack(tmp_path / "b.tgz", package(data), tmp_path / "peers")
    assert not (tmp_path / "peers").exists()


def test_a_changed_or_missing_file_of_a_folder_is_noticed(tmp_path: Path) -> None:
    data = tarball(tmp_path / "a.tgz")
    peers_fetch.unpack(tmp_path / "a.tgz", package(data), tmp_path)
    (tmp_path / "@some/lib/dist/a.js").write_text("changed")
    assert peers_lock.wrong_files(tmp_path, package(data)) == ["@some/lib/dist/a.js"]
    (tmp_path / "@some/lib/dist/a.js").unlink()
    assert peers_lock.wrong_files(tmp_path, package(data)) == ["@some/lib/dist/a.js"]


@pytest.mark.skipif(sys.platform == "win32", reason="the npm of this test is a shell script")
def test_a_folder_is_filled_through_npm_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tarball(tmp_path / "a.tgz")
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\necho "$2" >> {tmp_path}/asked\ncp {tmp_path}/a.tgz "$6/x.tgz"\n')
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    monkeypatch.setattr(peers_lock, "of", lambda peers: [package(data)])
    for _ in range(2):
        peers_fetch.ensure(tmp_path / "peers", ["jax"])
    assert (tmp_path / "asked").read_text() == "@some/lib@1.2.3\n"
    npm.write_text("#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
    with pytest.raises(NoPeers, match=r"npm pack @some/lib@1\.2\.3. failed: no such package"):
        peers_fetch.ensure(tmp_path / "other", ["jax"])


NPM_SAYS = """npm error code ENOTFOUND
npm error syscall getaddrinfo
npm error errno ENOTFOUND
npm error FetchError: request to the registry failed, reason: no such host
npm error     at ClientRequest.<anonymous> (index.js:130:14) {
npm error   code: 'ENOTFOUND',
npm error }
npm error
npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the npm of this test is a shell script")
def test_what_npm_says_without_a_network_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "npm"
    # As npm does: with --silent not a word.
    npm.write_text(
        f'#!/bin/sh\ncase "$*" in *--silent*) ;; *) cat >&2 <<"E"\n{NPM_SAYS}E\n;; esac\nexit 1\n'
    )
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    monkeypatch.setattr(peers_lock, "of", lambda peers: [package(b"")])
    with pytest.raises(NoPeers) as told:
        peers_fetch.ensure(tmp_path / "peers", ["jax"])
    message = told.value.message
    assert (
        "failed: code ENOTFOUND · FetchError: request to the registry failed, reason: no such "
        in (message)
    )
    assert "on a machine with a network" in message
    assert "--peers-dir or FA2_PEERS_DIR" in message
    assert "index.js" not in message
    assert "debug-0.log" not in message


def test_a_file_with_other_bytes_is_called_that_and_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(peers_lock, "of", lambda peers: [package(b"")])
    (tmp_path / "@some/lib/dist").mkdir(parents=True)
    (tmp_path / "@some/lib/dist/a.js").write_text("cut off")
    said: list[str] = []
    with pytest.raises(
        NoPeers, match=r"@some/lib/dist/a\.js in .* has other bytes than peers\.lock"
    ):
        peers_fetch.ensure(tmp_path, ["jax"], said.append)
    assert "has other bytes" in said[0]


def test_a_package_that_lacks_a_file_of_the_lock_is_refused_by_name(tmp_path: Path) -> None:
    data = tarball(tmp_path / "a.tgz")
    other = replace(package(data), files={"dist/b.js": "0" * 64})
    with pytest.raises(NoPeers, match=r"has no file dist/b\.js; the lock is wrong"):
        peers_fetch.unpack(tmp_path / "a.tgz", other, tmp_path / "peers")


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tarball(tmp_path / "a.tgz")
    (tmp_path / "file").touch()
    monkeypatch.setattr(peers_lock, "of", lambda peers: [package(data)])
    monkeypatch.setattr(peers_fetch.shutil, "which", lambda name: sys.executable)
    said: list[str] = []
    with pytest.raises(NoPeers, match=r"cannot hold the peers' files: .*; name another folder"):
        peers_fetch.ensure(tmp_path / "file" / "peers", ["jax"], said.append)
    assert said == []
    with pytest.raises(NoPeers, match="cannot hold the peers' files"):
        peers_fetch.unpack(tmp_path / "a.tgz", package(data), tmp_path / "file" / "peers")


def test_an_npm_that_cannot_be_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers_fetch.shutil, "which", lambda name: str(tmp_path / "npm"))
    with pytest.raises(NoPeers, match="npm cannot be run"):
        peers_fetch.ensure(tmp_path / "peers", ["jax"])


def test_without_npm_the_way_out_is_a_folder_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoPeers, match="--peers-dir or FA2_PEERS_DIR"):
        peers_fetch.ensure(tmp_path / "peers", ["ort"])


def test_a_lock_with_a_wrong_digest_of_a_file_is_noticed(tmp_path: Path) -> None:
    data = tarball(tmp_path / "a.tgz")
    wrong = replace(package(data), files={"dist/a.js": "0" * 64})
    with pytest.raises(NoPeers, match=r"@some/lib/dist/a\.js: not the bytes"):
        peers_fetch.unpack(tmp_path / "a.tgz", wrong, tmp_path / "peers")
