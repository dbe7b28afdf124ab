"""A history that is damaged, locked, full, unwritable or of another version breaks no run."""

from __future__ import annotations

import gc
import logging
import sqlite3
import time
import tracemalloc
import weakref
import zlib
from pathlib import Path

import pytest
from kept_runs import CASE, finished, keep

from server import history_schema, history_writer
from server.errors import CaseError, HistoryError
from server.history import History
from server.history_schema import MIGRATIONS, connect, version_of
from server.history_writer import HistoryWriter
from server.paths import STATIC


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_a_file_that_is_no_database_is_moved_aside(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(b"this is no database, " * 100)
    with pytest.raises(HistoryError, match="is damaged"):
        History(path).rows()
    history = keep(path, finished())
    assert [row["case"] for row in history.rows()] == [CASE]
    (aside,) = path.parent.glob("history.db.damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")
    assert len(warnings(caplog)) == 1
    assert aside.name in warnings(caplog)[0]


def test_a_database_that_is_damaged_while_it_is_written_is_moved_aside(path: Path) -> None:
    keep(path, *(finished() for _ in range(20)))
    size = path.stat().st_size
    with path.open("r+b") as file:  # all pages but the first
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    history = keep(path, finished())
    assert len(history.rows()) == 1
    assert len(list(path.parent.glob("history.db.damaged-*[0-9]Z"))) == 1


def test_a_text_that_cannot_be_unpacked_is_told_with_the_way_out(path: Path) -> None:
    run, report = finished(status="fail")
    history = keep(path, (run, report))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE texts SET packed = x'00'")
        database.execute("UPDATE outputs SET packed = x'00'")
        digest = database.execute("SELECT sha256 FROM texts").fetchone()[0]
    database.close()
    kept = history.get(run.id)
    assert kept is not None
    for read in (
        lambda: history.texts(run.id),
        lambda: history.text(run.id, digest),
        lambda: history.outputs(kept),
    ):
        with pytest.raises(HistoryError, match="fa2 history --clear"):
            read()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE reports SET report = '{'")
    database.close()
    with pytest.raises(HistoryError, match="fa2 history --clear"):
        history.get(run.id)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("<f4", "[1, 8, 2, 3]"),  # less than what is packed
        ("<f4", "[1, 8, 2, 5]"),  # more
        ("<f4", "[1073741824, 1073741824]"),  # more than is ever kept
        ("<f4", "[-8, 8]"),
        ("<f4", '"8"'),
        ("<f4", "[64.0]"),
        ("O", "[64]"),
        ("four", "[64]"),
    ],
)
def test_an_output_is_unpacked_only_as_far_as_its_shape_says(
    path: Path, dtype: str, shape: str
) -> None:
    run, report = finished(status="fail")
    history = keep(path, (run, report))
    assert set(history.outputs(history.named(run.id))) == {"o", "lse"}
    with sqlite3.connect(path) as database:
        told = f'{{"dtype": "{dtype}", "shape": {shape}, "sha256": "{"0" * 64}"}}'
        digests = f'{{"o": {told}, "lse": {told}}}'
        database.execute("UPDATE reports SET digests = ?", (digests,))
    database.close()
    with pytest.raises(HistoryError, match="this program did not write"):
        history.outputs(history.named(run.id))


def test_a_bomb_is_not_unpacked(path: Path) -> None:
    run, report = finished(status="fail")
    history = keep(path, (run, report))
    bomb = zlib.compress(bytes(200 << 20), 9)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE outputs SET packed = ?", (bomb,))
    database.close()
    kept = history.named(run.id)
    tracemalloc.start()
    try:
        with pytest.raises(HistoryError, match=r"has more than [0-9]+ bytes"):
            history.outputs(kept)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_run_that_is_deleted_while_it_is_looked_for_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, report = finished()
    history = keep(path, (run, report))
    monkeypatch.setattr(History, "get", lambda *_: None)
    with pytest.raises(CaseError, match=f"has no run '{run.id}' any more"):
        history.named("last")


def test_the_writer_holds_no_outputs_while_it_waits_for_the_next_run(path: Path) -> None:
    writer = HistoryWriter(path, origin="python", static=STATIC)
    run, report = finished()
    kept = weakref.ref(run.tensors["o"])
    writer.observe_run(run, report)
    del run, report
    for _ in range(100):
        gc.collect()
        if kept() is None:
            break
        time.sleep(0.01)
    assert kept() is None
    writer.close(10)


def test_a_locked_file_costs_its_rows_and_is_warned_of_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    keep(path, finished())
    monkeypatch.setattr(history_schema, "BUSY_MS", 20)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writer = HistoryWriter(path, origin="python", static=STATIC)
    for _ in range(3):
        writer.observe_run(*finished())
    writer.close(10)
    other.execute("ROLLBACK")
    other.close()
    assert len(History(path).rows()) == 1
    assert len(warnings(caplog)) == 1
    assert "cannot be written: database is locked" in warnings(caplog)[0]


def test_what_was_locked_for_a_while_is_written_again_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(path, finished())
    monkeypatch.setattr(history_schema, "BUSY_MS", 5000)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writer = HistoryWriter(path, origin="python", static=STATIC)
    writer.observe_run(*finished())
    other.execute("ROLLBACK")
    other.close()
    writer.close(10)
    assert len(History(path).rows()) == 2


def test_a_full_disk_costs_the_rows_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    history = keep(path, finished())

    def small(where: Path) -> sqlite3.Connection:
        connection = connect(where)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(history_writer, "connect", small)
    keep(path, *(finished("forward:T=64,H=4,D=64", "fail") for _ in range(40)))
    assert "full" in warnings(caplog)[0]
    assert len(warnings(caplog)) == 1
    assert [row["case"] for row in history.rows()][-1] == CASE


def test_a_place_that_cannot_be_written_is_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "history.db"
    keep(path, finished(), finished())
    assert len(warnings(caplog)) == 1
    assert "cannot be written" in warnings(caplog)[0]
    assert "--no-history" in warnings(caplog)[0]


def test_a_newer_version_is_left_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keep(path, finished())
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    history = keep(path, finished())
    assert "version 99" in warnings(caplog)[0]
    with pytest.raises(HistoryError, match="a newer one wrote it"):
        history.rows()
    assert list(path.parent.glob("*damaged*")) == []


def test_an_older_file_is_brought_up_to_date_with_its_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = keep(path, finished())
    added = "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none';\n"
    monkeypatch.setattr(history_schema, "MIGRATIONS", (*MIGRATIONS, added))
    keep(path, finished())
    with sqlite3.connect(path) as database:
        assert version_of(database) == len(MIGRATIONS) + 1
        notes = database.execute("SELECT note FROM runs").fetchall()
    database.close()
    assert notes == [("none",), ("none",)]
    assert len(history.rows()) == 2


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = keep(path, finished())
    broken = "ALTER TABLE runs ADD COLUMN note TEXT;\nALTER TABLE nowhere ADD COLUMN x;\n"
    with monkeypatch.context() as patched:
        patched.setattr(history_schema, "MIGRATIONS", (*MIGRATIONS, broken))
        with pytest.raises(sqlite3.OperationalError):
            connect(path)
    assert len(history.rows()) == 1


def test_what_comes_after_the_end_is_not_kept(path: Path) -> None:
    writer = HistoryWriter(path, origin="python", static=STATIC)
    writer.observe_run(*finished())
    writer.close(10)
    writer.close(10)
    writer.observe_run(*finished())
    assert len(History(path).rows()) == 1


def test_the_file_is_this_users_alone(path: Path) -> None:
    keep(path, finished())
    assert path.stat().st_mode & 0o077 == 0


def test_outputs_that_would_pile_up_are_left_out_and_their_rows_are_not(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, report = finished(status="fail")
    size_bytes = sum(array.nbytes for array in run.tensors.values())
    monkeypatch.setattr(history_writer, "MOST_HELD", size_bytes)
    other = sqlite3.connect(path, isolation_level=None)
    connect(path).close()
    other.execute("BEGIN IMMEDIATE")  # so that the first one is still waiting when the second comes
    writer = HistoryWriter(path, origin="python", static=STATIC)
    writer.observe_run(run, report)
    writer.observe_run(*finished(status="fail"))
    other.execute("ROLLBACK")
    other.close()
    writer.close(10)
    assert [bool(row["kept_bytes"]) for row in History(path).rows()] == [False, True]


def test_texts_that_would_pile_up_cost_their_rows_and_one_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(history_writer, "MOST_HELD", 150_000)
    connect(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # so that the first one is still waiting when the others come
    writer = HistoryWriter(path, origin="python", static=STATIC)
    for _ in range(3):
        writer.observe_run(*finished(shaders={"common/params.wgsl": "//" + " " * 100_000}))
    other.execute("ROLLBACK")
    other.close()
    writer.close(10)
    assert len(History(path).rows()) == 1
    assert len(warnings(caplog)) == 1
    assert "150000 bytes of texts behind" in warnings(caplog)[0]


def test_two_processes_may_write_at_once(path: Path) -> None:
    writers = [HistoryWriter(path, origin=name, static=STATIC) for name in ("run", "page")]
    for _ in range(20):
        for writer in writers:
            writer.observe_run(*finished())
    for writer in writers:
        writer.close(10)
    origins = [row["origin"] for row in History(path).rows()]
    assert sorted(origins) == ["page"] * 20 + ["run"] * 20
