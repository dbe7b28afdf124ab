"""A repro holds what it takes to run again, and nothing about the person who made it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_runs import CASE, finished, keep

from server.errors import CaseError
from server.history import History
from server.repro import name_of, write_repro
from server.repro_file import parse_repro, read_repro

KERNEL = "fa2_forward.wgsl"


def packed(path: Path, status: str = "fail", **fields: Any) -> bytes:
    history = keep(path / "history.db", finished(status=status, **fields))
    return pack(history)


def pack(history: History) -> bytes:
    kept = history.get(history.find("last"))
    assert kept is not None
    return write_repro(history, kept)


def changed(data: bytes, **files: bytes | None) -> bytes:
    """The zip with files replaced, added or (None) left out; ``__`` stands for a point."""
    new = {name.replace("__", "."): content for name, content in files.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as archive:
        for name in old.namelist():
            if name not in new:
                archive.writestr(name, old.read(name))
        for name, content in new.items():
            if content is not None:
                archive.writestr(name, content)
    return out.getvalue()


def case_json(data: bytes, **fields: Any) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = json.loads(archive.read("case.json"))
    return changed(data, case__json=json.dumps({**found, **fields}).encode())


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return packed(tmp_path_factory.mktemp("good"), shaders={KERNEL: "// edited\n"})


def test_what_is_packed_is_read_again(good: bytes) -> None:
    repro = parse_repro(good, "it")
    run, _ = finished()
    assert (str(repro.case), repro.told.status) == (CASE, "fail")
    assert repro.asked.edited == [KERNEL]
    assert repro.asked.without == ["shader-f16"]
    assert repro.shaders[KERNEL] == "// edited\n"
    assert repro.registry is not None
    assert repro.told.outputs["o"].worst_ratio == 0.25
    for name, array in run.tensors.items():
        np.testing.assert_array_equal(repro.outputs[name], array, strict=True)


def test_a_run_that_was_right_is_packed_with_the_digests_of_its_outputs(tmp_path: Path) -> None:
    data = packed(tmp_path, "pass")
    repro = parse_repro(data, "it")
    assert repro.outputs == {}
    assert repro.digests.keys() == {"o", "lse"}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert "only their SHA-256" in archive.read("README.txt").decode()


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    history = keep(tmp_path / "history.db", finished(status="fail"))
    assert pack(history) == pack(history)
    kept = history.get(history.find("last"))
    assert kept is not None
    assert name_of(kept) == f"fa2-fail-{kept.row['run'][:8]}"


def test_a_repro_names_no_folder_of_its_maker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    text = "/home/somebody/kernels/mine.wgsl:3: no such thing"
    data = packed(tmp_path, message=text, warnings=(text,), shaders={KERNEL: f"// {text}\n"})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"somebody" not in everything
    assert b"~/kernels/mine.wgsl:3" in everything


def bomb(good: bytes) -> bytes:
    return changed(good, shaders__=None, **{"shaders/big__wgsl": b" " * (1 << 20)})


def many(good: bytes) -> bytes:
    return changed(good, **{f"own/{n}__txt": b"x" for n in range(400)})


def twice(good: bytes) -> bytes:
    out = io.BytesIO(good)
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("case.json", b"{}")
    return out.getvalue()


def lying(good: bytes) -> bytes:
    """README.txt has more bytes than its entry says."""
    data = bytearray(changed(good, README__txt=b"A" * 5000))
    at = data.rindex(b"README.txt") - 46  # its entry in the directory at the end
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    return bytes(data)


def method(good: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("case.json", b"{}")
    return out.getvalue()


def encrypted(good: bytes) -> bytes:
    data = bytearray(changed(good, README__txt=b"x"))
    at = data.rindex(b"README.txt") - 46
    data[at + 8] |= 1
    return bytes(data)


def array(content: bytes) -> Callable[[bytes], bytes]:
    def made(good: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("o.npy", content)
        return changed(good, outputs__npz=out.getvalue())

    return made


def npy(value: Any, *, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, value, allow_pickle=pickled)
    return file.getvalue()


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no zip": (lambda good: b"PK no", "no zip file"),
    "cut off": (lambda good: good[: len(good) // 2], "no zip file"),
    "a path upwards": (lambda g: changed(g, **{"shaders/../../x__wgsl": b"x"}), "belongs in none"),
    "an absolute path": (lambda g: changed(g, **{"/etc/passwd": b"x"}), "belongs in none"),
    "a backslash": (lambda g: changed(g, **{"own/..\\x": b"x"}), "belongs in none"),
    "a hidden file": (lambda g: changed(g, **{"own/__bashrc": b"x"}), "belongs in none"),
    "a folder": (lambda g: changed(g, **{"shaders/": b""}), "belongs in none"),
    "a stranger": (lambda g: changed(g, run__sh=b"x"), "belongs in none"),
    "too large a text": (bomb, "1048576 bytes; 262144 are taken"),
    "too many files": (many, "files; 300 are taken"),
    "a name twice": (twice, "twice"),
    "a size that lies": (lying, "no zip file|more bytes"),
    "another compression": (method, "not deflate"),
    "encryption": (encrypted, "encrypted"),
    "no case": (lambda g: changed(g, case__json=None), "has no case.json"),
    "no JSON": (lambda g: changed(g, case__json=b"{"), "not strict JSON"),
    "a list": (lambda g: changed(g, case__json=b"[]"), "no JSON object"),
    "deep JSON": (lambda g: changed(g, case__json=b"[" * 9999), "levels deep"),
    "another format": (lambda g: case_json(g, format=2), "format 2; this version reads 1"),
    "no case id": (lambda g: case_json(g, case="forward:T=8,D=4,colour=red"), "colour"),
    "a long case": (lambda g: case_json(g, case="forward:" + "x" * 9999), "case.json: case"),
    "no number": (lambda g: case_json(g, kappa="4"), "case.json: kappa"),
    "a flag as feature": (lambda g: case_json(g, without=["--x"]), "case.json: without/0"),
    "no UTF-8": (lambda g: changed(g, **{"shaders/x__wgsl": b"\xff"}), "not UTF-8"),
    "no digest": (lambda g: changed(g, outputs__json=b'{"o": {"sha256": "x"}}'), "sha256"),
    "a pickle": (array(npy(np.array([{}], object), pickled=True)), "no f32 array of the shape"),
    "another shape": (array(npy(np.zeros((2, 2), np.float32))), "no f32 array of the shape"),
    "another type": (array(npy(np.zeros((1, 8, 2, 4)))), "o.npy' has|no f32 array of the shape"),
    "a short array": (array(npy(np.zeros((1, 8, 2, 4), np.float32))[:-1]), "no f32 array"),
    "a giant array": (array(b"\x93NUMPY\x01\x00" + b"0" * 99_999), "are taken here"),
    "no npz": (lambda g: changed(g, outputs__npz=b"x"), "outputs.npz is no zip file"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_zip_is_refused_with_the_reason(good: bytes, kind: str) -> None:
    make, reason = HOSTILE[kind]
    with pytest.raises(CaseError, match=reason):
        parse_repro(make(good), "it")


def test_a_thousandfold_compression_is_not_unpacked(good: bytes) -> None:
    """256 MiB of zeros in 256 KiB: the bound is on what comes out."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("report.json", b" " * (16 << 20))
    with pytest.raises(CaseError, match="16777216 bytes; 4194304 are taken"):
        parse_repro(out.getvalue(), "it")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"nothing\.zip cannot be read: No such file"):
        read_repro(tmp_path / "nothing.zip")
