"""The tables of the history and how a file comes to have them.

``PRAGMA user_version`` counts the migrations that a file has seen, so a file of an older version
is brought up to date where it lies, and one of a newer version is left alone.

::

    runs ──1:1── reports          runs ──n:1── adapters
      └──1:n── outputs            runs ──n:1── bundles ──n:m── texts (by SHA-256, compressed)
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

from server.errors import HistoryError

log = logging.getLogger("server")

BUSY_MS = 10_000  # as long as another process may write
RETRY_S = 0.01

_RUNS = """
CREATE TABLE adapters (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  facts TEXT NOT NULL                 -- JSON, as the page told them
);
CREATE TABLE texts (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,        -- of the UTF-8
  bytes INTEGER NOT NULL,             -- of the UTF-8
  packed BLOB NOT NULL                -- zlib
);
CREATE TABLE bundles (                -- the shader files as a run had them
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE
);
CREATE TABLE bundle_files (
  bundle INTEGER NOT NULL REFERENCES bundles ON DELETE CASCADE,
  path TEXT NOT NULL,
  text INTEGER NOT NULL REFERENCES texts,
  PRIMARY KEY (bundle, path)
) WITHOUT ROWID;
CREATE INDEX bundle_files_text ON bundle_files (text);
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,                 -- run, bench
  origin TEXT NOT NULL,               -- who asked: page, run, check, pytest, …
  finished REAL NOT NULL,             -- seconds since 1970, UTC
  case_id TEXT NOT NULL,
  kernel TEXT NOT NULL,
  own TEXT NOT NULL,                  -- the name of a kernel that is not ours, else ''
  status TEXT NOT NULL,
  worst REAL,                         -- largest |error| / allowed; inf for NaN; NULL: not judged
  bad INTEGER NOT NULL,               -- elements over the bound, all outputs
  elapsed_ns REAL,
  gpu_ns REAL,
  median_ns REAL,                     -- of a benchmark
  tflops REAL,
  engine TEXT NOT NULL,
  adapter INTEGER REFERENCES adapters,
  shader_sha256 TEXT NOT NULL,
  edited INTEGER NOT NULL,            -- how many shader files were replaced
  bundle INTEGER REFERENCES bundles,
  kept_bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_adapter ON runs (adapter);
CREATE INDEX runs_bundle ON runs (bundle);
CREATE INDEX runs_status ON runs (status, seq);
CREATE TABLE reports (
  seq INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
  message TEXT NOT NULL,
  report TEXT NOT NULL,               -- JSON, without the adapter
  request TEXT NOT NULL,              -- JSON: what it takes to ask for the same again
  digests TEXT NOT NULL               -- JSON: SHA-256 of each output's bytes, shape, dtype
);
CREATE TABLE outputs (
  seq INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  name TEXT NOT NULL,
  bytes INTEGER NOT NULL,             -- of packed
  packed BLOB NOT NULL,               -- zlib of little-endian bytes in C order
  PRIMARY KEY (seq, name)
);
"""

_GOLDEN_AND_TRAININGS = """
ALTER TABLE runs ADD COLUMN steps INTEGER;
ALTER TABLE runs ADD COLUMN loss REAL;
CREATE INDEX runs_kind ON runs (kind, seq);
"""
"""``kind`` is golden and train too from here on. Of a training: the steps done, its last loss (NULL
also for one that is no number), and a step's median as ``median_ns``."""

MIGRATIONS = (_RUNS, _GOLDEN_AND_TRAININGS)
"""Each takes a file from the version that is its index to the next; a published one stays as is."""


def connect(path: Path) -> sqlite3.Connection:
    """The file, made if need be and brought up to date, for writing.

    A file that is no database, or a damaged one, is moved aside and a new one begun. Raises
    sqlite3.Error and OSError for what cannot be opened, HistoryError for a newer version's file.
    """
    try:
        return opened(path)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
    move_aside(path)
    return opened(path)


def opened(path: Path) -> sqlite3.Connection:
    """As ``connect``, but a damaged file stays where it is: raises sqlite3.DatabaseError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Nobody else's business: what was tried here, and on which device.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # a crash may cost the last runs, no more
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """As soon as nobody else does the same: SQLite waits for other locks, but not for this one."""
    end = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(RETRY_S)


def migrate(connection: sqlite3.Connection) -> None:
    """Raises HistoryError for a file of a newer version."""
    if version_of(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")  # another process may be about to do the same
    try:
        # executescript would end the transaction.
        for number in range(version_of(connection), len(MIGRATIONS)):
            for statement in filter(str.strip, MIGRATIONS[number].split(";\n")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection) -> int:
    """How many migrations the file has seen. Raises HistoryError if it is more than we know."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise HistoryError(
            f"the history has version {version} and this program knows {len(MIGRATIONS)}; a newer "
            "one wrote it: update, or name another file with FA2_HISTORY"
        )
    return version


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is no database, or a broken one."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def move_aside(path: Path) -> Path:
    """Renames a damaged file with its journals and says so; where it lies now. Raises OSError."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    aside = path.with_name(f"{path.name}.damaged-{moment}")
    for suffix in ("", "-wal", "-shm"):
        found = path.with_name(path.name + suffix)
        if found.exists():
            found.rename(aside.with_name(aside.name + suffix))
    log.warning("the history %s was damaged: it is %s now, and a new one begins", path, aside.name)
    return aside
