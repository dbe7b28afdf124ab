"""Writes what is finished into the history, on a thread of its own.

Nothing waits for it and none is lost by it: what cannot be written (a locked, full, read-only or
damaged file) is warned of once and left out. ``close`` waits a little for what is still queued.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from server.bench import Bench
from server.bench_report import BenchReport
from server.errors import HistoryError
from server.golden_outcome import Outcome
from server.history_entry import Circumstances, Entry
from server.history_entry_golden import GoldenEntry
from server.history_entry_run import RunEntry
from server.history_entry_train import TrainingEntry
from server.history_limits import Limits, trim, trim_outputs
from server.history_rows import insert
from server.history_schema import connect, is_damage, move_aside
from server.report import Report
from server.run import Run
from server.shader_texts import ShaderTexts
from server.training import Training
from server.training_report import TrainingReport

log = logging.getLogger("server")

MOST_QUEUED = 4096
MOST_HELD = 512 << 20  # bytes of outputs and texts that wait; of what comes then, no outputs
AT_ONCE = 64  # in one transaction
TRIM_EVERY = 256  # rows


class HistoryWriter:
    """What observes may be called until ``close``; it never blocks."""

    def __init__(
        self,
        path: Path,
        *,
        origin: str,
        static: Path | None,
        launched: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> None:
        """``origin``: who asks for the runs; ``launched``: how the browser was started; ``static``:
        where the shader texts lie, None when they are those of another server.
        """
        self.path, self._circumstances = path, Circumstances.here(origin, launched or {})
        self._limits = limits or Limits()
        self._texts = None if static is None else ShaderTexts(static)
        self._queue: queue.Queue[Entry | None] = queue.Queue(MOST_QUEUED)
        self._held_bytes = 0
        self._lock = threading.Lock()  # of the number above
        self._connection: sqlite3.Connection | None = None
        self._untrimmed = TRIM_EVERY  # so that the first batch trims what others have left
        self._warned = False
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="fa2-history", daemon=True)
        self._thread.start()

    # On the loop's thread

    def observe_run(self, run: Run, report: Report) -> None:
        """Hands a finished run over. The check of a benchmark is told with the benchmark."""
        if not run.timing:
            self._give(RunEntry.of_run(run, report))

    def observe_bench(self, bench: Bench, report: BenchReport) -> None:
        self._give(RunEntry.of_bench(bench, report))

    def observe_training(self, training: Training, report: TrainingReport) -> None:
        self._give(TrainingEntry.of(training, report))

    def observe_golden(self, outcome: Outcome, kernel: str, environment: Mapping[str, Any]) -> None:
        """``kernel``: what was asked for; ``environment``: the harness's."""
        self._give(GoldenEntry.of(outcome, kernel, environment))

    def close(self, timeout_s: float = 3.0) -> None:
        """Writes what is queued, for so long at most. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        with suppress(queue.Full):
            self._queue.put(None, timeout=timeout_s)
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            self._warn(f"was still being written after {timeout_s:g} s; the last runs may lack")

    def _give(self, entry: Entry) -> None:
        if self._closed:
            return
        if not self._hold(entry.held_bytes):
            entry = replace(entry, tensors={})
            if not self._hold(entry.held_bytes):  # its texts alone are too many
                self._warn(f"is {MOST_HELD} bytes of texts behind; some runs are left out")
                return
        try:
            self._queue.put_nowait(entry)
        except queue.Full:
            self._hold(-entry.held_bytes)
            self._warn(f"is more than {MOST_QUEUED} runs behind; some are left out")

    def _hold(self, size_bytes: int) -> bool:
        """Whether so much more may wait; a negative size gives it back."""
        with self._lock:
            if size_bytes > 0 and self._held_bytes + size_bytes > MOST_HELD:
                return False
            self._held_bytes += size_bytes
            return True

    # On the writer's thread

    def _work(self) -> None:
        while self._keep_some():
            pass
        if self._connection is not None:
            self._connection.close()

    def _keep_some(self) -> bool:
        """Waits for entries and writes them; whether more may come.

        A call of its own, so that no outputs are held while it waits for the next.
        """
        batch = [self._queue.get()]
        with suppress(queue.Empty):
            while len(batch) < AT_ONCE:
                batch.append(self._queue.get_nowait())
        entries = [entry for entry in batch if entry is not None]
        if entries:
            self._keep(entries)
            self._hold(-sum(entry.held_bytes for entry in entries))
        return None not in batch

    def _keep(self, entries: list[Entry]) -> None:
        try:
            try:
                self._write(entries)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self._drop_connection()
                move_aside(self.path)
                self._write(entries)
        except (sqlite3.Error, OSError, HistoryError) as error:
            self._drop_connection()
            self._warn(f"cannot be written: {error}; the runs go on without it")
        except Exception:  # ours to mend, and still no reason to end the thread
            self._drop_connection()
            log.exception("the history %s lacks %d runs", self.path, len(entries))

    def _write(self, entries: list[Entry]) -> None:
        if self._connection is None:
            self._connection = connect(self.path)
        database = self._connection
        texts = {} if self._texts is None else self._texts.all()
        with transaction(database):
            for entry in entries:
                self._insert(database, entry, texts)
            if any(entry.keeps_outputs for entry in entries):
                trim_outputs(database, self._limits.output_bytes)
            self._untrimmed += len(entries)
            if self._untrimmed >= TRIM_EVERY:
                trim(database, self._limits.rows)
                self._untrimmed = 0

    def _insert(self, database: sqlite3.Connection, entry: Entry, texts: Mapping[str, str]) -> None:
        database.execute("SAVEPOINT entry")
        try:
            insert(
                database,
                entry,
                circumstances=self._circumstances,
                texts=texts,
                limits=self._limits,
            )
        except (ValueError, TypeError, AttributeError, sqlite3.IntegrityError):
            # Ours to mend; the others of the batch are not to blame.
            database.execute("ROLLBACK TO entry")
            log.exception("the history lacks the run %s of %s", entry.id, entry.case)
        finally:
            with suppress(sqlite3.OperationalError):  # a full disk ends the transaction itself
                database.execute("RELEASE entry")

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning("the history %s %s (--no-history or FA2_HISTORY=0: none)", self.path, what)


class transaction:  # noqa: N801  reads as a statement
    """``with transaction(connection):`` all of it or nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        else:
            with suppress(sqlite3.Error):  # the failure itself may have ended it
                self._connection.execute("ROLLBACK")
