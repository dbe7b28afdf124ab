"""Writing files: whole or not at all, and what stands at a path stays what it is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from server import atomic

# What /dev/stdout leads to. The tests name no device itself: code that is wrong, run by root, would
# put a file in its place.
STDOUT = "/proc/self/fd/1" if Path("/proc/self/fd").exists() else "/dev/fd/1"

WRITES = """
from pathlib import Path
from server.atomic import try_place, write_text
print("before")
try_place(Path({path!r}))
write_text(Path({path!r}), "the report\\n")
print("after")
"""

# What is printed waits in a buffer, as it does for whoever has not asked otherwise.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def writes(path: str) -> list[str]:
    """The command of a process that prints and writes a file meanwhile."""
    return [sys.executable, "-c", WRITES.format(path=path)]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "new" / "report.json"
    atomic.write_text(file, "old\n")
    with pytest.raises(UnicodeEncodeError):
        atomic.write_text(file, "half \ud800")
    assert file.read_text() == "old\n"
    assert [path.name for path in file.parent.iterdir()] == ["report.json"]


def test_what_cannot_be_put_in_place_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        atomic.write_bytes(tmp_path / "a", b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_stays_a_pipe_and_its_reader_gets_the_bytes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    atomic.try_place(pipe)
    atomic.write_bytes(pipe, b"through")
    reader.join(5)
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("there", [True, False], ids=["a file", "nothing yet"])
def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path, there: bool) -> None:
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.parent.mkdir()
    if there:
        target.write_text("old")
    link.symlink_to(Path("folder") / "target")
    atomic.try_place(link)
    atomic.write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("link")
    with pytest.raises(OSError, match="symbolic links"):
        atomic.write_text(link, "new")
    assert link.is_symlink()


def test_modes_are_those_of_the_file_or_of_the_umask_which_nobody_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, new, plain = (tmp_path / name for name in ("private", "new", "plain"))
    private.touch(0o600)
    plain.touch()
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("every thread has the same umask"))
    atomic.write_text(private, "new")
    atomic.write_text(new, "new")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert new.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("path", ["stdout", "out"])
def test_the_file_that_our_output_goes_to_has_all_of_it_in_order(tmp_path: Path, path: str) -> None:
    (tmp_path / "stdout").symlink_to(STDOUT)
    with open(tmp_path / "out", "wb") as out:
        subprocess.run(writes(path), stdout=out, cwd=tmp_path, env=BUFFERED, check=True, timeout=30)
    assert (tmp_path / "out").read_text() == "before\nthe report\nafter\n"


def test_output_that_goes_into_a_pipe_has_all_of_it_in_order(tmp_path: Path) -> None:
    link = tmp_path / "stdout"
    link.symlink_to(STDOUT)
    done = subprocess.run(
        writes(str(link)), stdout=subprocess.PIPE, env=BUFFERED, check=True, timeout=30
    )
    assert done.stdout == b"before\nthe report\nafter\n"
    assert link.is_symlink()


def is_open(file: Path) -> bool:
    """Whether one of our descriptors leads to a file."""
    known = file.stat()
    for number in range(256):
        with suppress(OSError):  # it is closed
            if os.path.samestat(os.fstat(number), known):
                return True
    return False


def test_a_place_is_tried_without_anything_left_and_no_open_file_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[bool] = []

    def remove(file: Path) -> None:
        removed.append(is_open(file))
        os.remove(file)

    monkeypatch.setattr(Path, "unlink", remove)
    atomic.try_place(tmp_path / "new" / "report.json")
    assert removed == [False], "Windows removes no file that is open"
    assert list((tmp_path / "new").iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    for function in (atomic.try_place, lambda path: atomic.write_text(path, "new")):
        with pytest.raises(IsADirectoryError):
            function(tmp_path)
