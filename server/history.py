"""Reads the history of runs, benchmarks, golden checks and trainings, and deletes from it.

A connection lives as long as a call: other processes write to the file meanwhile.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from server.errors import CaseError, HistoryError
from server.history_filter import Filter
from server.history_limits import Limits, sweep
from server.history_schema import BUSY_MS, MIGRATIONS, opened, version_of
from server.report import jsonable

SLOWEST_S = 5.0  # for one question; a pattern of many stars over many rows is slow
STEPS = 10_000  # of SQLite's machine between two looks at the clock
MOST_TEXT = 4 << 20  # bytes of a text, unpacked
LAST = "last"

_COLUMNS = (
    "runs.seq, runs.id AS run, kind, origin, finished, case_id AS 'case', kernel, own, status,"
    " worst, bad, elapsed_ns, gpu_ns, median_ns, tflops, steps, loss, engine,"
    " adapters.name AS adapter, shader_sha256, edited, kept_bytes"
)
_FROM = "FROM runs LEFT JOIN adapters ON adapters.id = runs.adapter"


@dataclass(frozen=True)
class Kept:
    """A run in full: ``row`` as in a list, ``texts`` as ``{path: {sha256, bytes}}``."""

    row: dict[str, Any]
    report: dict[str, Any]
    request: dict[str, Any]
    digests: dict[str, dict[str, Any]]
    texts: dict[str, dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        kept = sorted(self.digests) if self.row["kept_bytes"] else []
        return {
            **self.row,
            "report": self.report,
            "request": self.request,
            "outputs": {
                name: {**digest, "kept": name in kept} for name, digest in self.digests.items()
            },
            "texts": self.texts,
        }


class History:
    """The file at ``path``. A missing one is an empty history.

    Every method raises HistoryError for a file that cannot be read, with the way out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, wanted: Filter | None = None) -> list[dict[str, Any]]:
        """Runs, newest first, as plain dicts; ``finished`` in seconds since 1970.

        Raises CaseError for a filter that says nothing sensible.
        """
        wanted = wanted or Filter()
        condition, values = wanted.sql()
        with self._reading() as database:
            if database is None:
                return []
            sql = f"SELECT {_COLUMNS} {_FROM} WHERE {condition} ORDER BY runs.seq DESC LIMIT ?"
            return [dict(row) for row in database.execute(sql, [*values, wanted.limit])]

    def find(self, name: str, *, besides: Collection[str] = ()) -> str:
        """The id that ``last``, an id or the unique beginning of one means; ``last`` is the newest
        run of a kind that is not in ``besides``.

        Raises CaseError when nothing or several runs are meant.
        """
        if not re.fullmatch(r"last|[0-9a-f]{1,32}", name):
            raise CaseError(f"{name[:40]!r} is no run; use `last`, an id, or the beginning of one")
        with self._reading() as database:
            found: list[str] = []
            if database is not None:
                where, values, many = "id >= ? AND id < ? || 'g'", [name, name], 6
                if name == LAST:
                    places = ", ".join("?" * len(besides))
                    where, values, many = f"kind NOT IN ({places})", [*besides], 1
                sql = f"SELECT id FROM runs WHERE {where} ORDER BY seq DESC LIMIT ?"
                found = [row["id"] for row in database.execute(sql, (*values, many))]
        if name in found:
            return name
        if not found:
            raise CaseError(
                f"the history {self.path} has no run {name!r}; `fa2 history` lists them"
            )
        if len(found) > 1:
            raise CaseError(
                f"{name!r} begins several runs: {', '.join(found[:5])}; write more of it"
            )
        return found[0]

    def named(self, name: str, *, besides: Collection[str] = ()) -> Kept:
        """The run that ``find`` finds. Raises CaseError as it does."""
        kept = self.get(run := self.find(name, besides=besides))
        if kept is None:  # deleted a moment ago
            raise CaseError(f"the history {self.path} has no run {run!r} any more")
        return kept

    def get(self, run: str) -> Kept | None:
        """The run with this whole id."""
        with self._reading() as database:
            if database is None:
                return None
            sql = (
                f"SELECT {_COLUMNS}, adapters.facts, bundle, message, report, request, digests "
                f"{_FROM} JOIN reports USING (seq) WHERE runs.id = ?"
            )
            found = database.execute(sql, (run,)).fetchone()
            if found is None:
                return None
            row = dict(found)
            files = database.execute(
                "SELECT path, sha256, bytes FROM bundle_files JOIN texts ON texts.id = text "
                "WHERE bundle = ? ORDER BY path",
                (row.pop("bundle"),),
            )
            texts = {f["path"]: {"sha256": f["sha256"], "bytes": f["bytes"]} for f in files}
            report, request, digests = (
                json.loads(row.pop(name)) for name in ("report", "request", "digests")
            )
            facts = row.pop("facts")
            adapter = json.loads(facts) if facts else None
        report["adapter"] = adapter
        if isinstance(report.get("report"), dict):  # a benchmark has that of its check inside
            report["report"]["adapter"] = adapter
        return Kept(row, report, request, digests, texts)

    def text(self, run: str, sha256: str) -> str | None:
        """A text that the run was made of, by its SHA-256."""
        with self._reading() as database:
            if database is None:
                return None
            sql = (
                "SELECT packed FROM runs JOIN bundle_files ON bundle_files.bundle = runs.bundle "
                "JOIN texts ON texts.id = text WHERE runs.id = ? AND sha256 = ? LIMIT 1"
            )
            found = database.execute(sql, (run, sha256)).fetchone()
            return None if found is None else unpacked(found["packed"])

    def texts(self, run: str) -> dict[str, str]:
        """All texts that the run was made of, by path."""
        with self._reading() as database:
            if database is None:
                return {}
            sql = (
                "SELECT path, packed FROM runs JOIN bundle_files USING (bundle) "
                "JOIN texts ON texts.id = text WHERE runs.id = ? ORDER BY path"
            )
            return {row["path"]: unpacked(row["packed"]) for row in database.execute(sql, (run,))}

    def outputs(self, kept: Kept) -> dict[str, npt.NDArray[Any]]:
        """The outputs that were kept of a run, in the shapes in which they came."""
        with self._reading() as database:
            if database is None:
                return {}
            sql = "SELECT name, packed FROM outputs WHERE seq = ?"
            found = {}
            for row in database.execute(sql, (kept.row["seq"],)):
                found[row["name"]] = _array(row["packed"], kept.digests[row["name"]])
            return found

    def delete(self, run: str) -> bool:
        """Whether there was such a run."""
        return self._change("DELETE FROM runs WHERE id = ?", (run,)) > 0

    def clear(self) -> int:
        """Forgets everything; how many runs there were."""
        return self._change("DELETE FROM runs", (), vacuum=True)

    def _change(self, sql: str, values: tuple[object, ...], *, vacuum: bool = False) -> int:
        with self._open("rw") as database:
            if database is None:
                return 0
            database.execute("BEGIN IMMEDIATE")
            count = database.execute(sql, values).rowcount
            sweep(database)
            database.execute("COMMIT")
            if vacuum:
                database.execute("VACUUM")
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return count

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        with self._open("ro") as database:
            if database is not None:
                end = time.monotonic() + SLOWEST_S
                database.set_progress_handler(lambda: time.monotonic() > end, STEPS)
            yield database

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection | None]:
        if not self.path.exists():
            yield None
            return
        try:
            connection = sqlite3.connect(
                f"{self.path.resolve().as_uri()}?mode={mode}",
                uri=True,
                timeout=BUSY_MS / 1000,
                isolation_level=None,
            )
            try:
                connection.row_factory = sqlite3.Row
                connection.execute("PRAGMA foreign_keys = ON")
                # 0: a writer has just made the file and not yet its tables.
                version = version_of(connection)
                if 0 < version < len(MIGRATIONS):
                    self._update()
                yield connection if version else None
            finally:
                connection.close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_INTERRUPT:
                raise HistoryError(
                    f"the question took longer than {SLOWEST_S:g} s; use fewer * or a later since"
                ) from None
            raise HistoryError(f"the history {self.path} cannot be read: {error}") from error
        except sqlite3.Error as error:
            raise HistoryError(
                f"the history {self.path} is damaged ({error}); the next run moves it aside and "
                "begins a new one"
            ) from error
        except (zlib.error, ValueError, KeyError) as error:
            raise HistoryError(
                f"the history {self.path} holds what this program did not write ({error}); move "
                "the file away, or forget all of it: fa2 history --clear"
            ) from error

    def _update(self) -> None:
        """Brings a file of an older version up to date, as its next writer would."""
        try:
            opened(self.path).close()
        except (sqlite3.OperationalError, OSError) as error:
            raise HistoryError(
                f"the history {self.path} is of an older version and cannot be brought up to date "
                f"({error}); try again, or make it writable, or name a copy of it with FA2_HISTORY"
            ) from error


def unpacked(packed: bytes) -> str:
    """A text. Raises ValueError for one of more than 4 MiB, and for a piece of one: the file may be
    anybody's.
    """
    return _inflated(packed, MOST_TEXT, "a text").decode("utf-8", "replace")


def _array(packed: bytes, told: Mapping[str, Any]) -> npt.NDArray[Any]:
    """An output of the type and shape that are told. Raises ValueError for what is none."""
    most = Limits().run_output_bytes
    try:
        dtype, shape = np.dtype(told["dtype"]), told["shape"]
        size_bytes = math.prod(shape) * dtype.itemsize
        if not 0 <= size_bytes <= most:
            raise ValueError(f"an output of {size_bytes} bytes, where {most} are kept at most")
        data = _inflated(packed, size_bytes, "an output")
        return np.frombuffer(data, dtype).reshape(shape)
    except TypeError as error:
        raise ValueError(f"an output without type or shape: {error}") from None


def _inflated(packed: bytes, most: int, what: str) -> bytes:
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, most + 1)  # the end is seen with one to spare
    if not unpacking.eof or len(data) > most:
        raise ValueError(f"{what} is incomplete, or has more than {most} bytes")
    return data


def told(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON: times as ISO 8601 in UTC, infinity as a string."""
    finished = datetime.fromtimestamp(row["finished"], UTC).isoformat(timespec="milliseconds")
    return {**jsonable(row), "finished": finished}
