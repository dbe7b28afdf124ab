"""How much the history keeps: the newest runs, and the outputs of fewer of them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    rows: int = 100_000
    output_bytes: int = 256 << 20  # of all runs together, packed
    run_output_bytes: int = 64 << 20  # of one run, as they came; larger ones are not kept


def trim_outputs(database: sqlite3.Connection, budget_bytes: int) -> None:
    """Drops the outputs of the oldest runs until the rest fits, the newest run's always kept."""
    used, dropped = 0, []
    rows = database.execute(
        "SELECT seq, kept_bytes FROM runs WHERE kept_bytes > 0 ORDER BY seq DESC"
    )
    for seq, kept_bytes in rows.fetchall():
        used += kept_bytes
        if used > budget_bytes and used > kept_bytes:
            dropped.append((seq,))
    database.executemany("DELETE FROM outputs WHERE seq = ?", dropped)
    database.executemany("UPDATE runs SET kept_bytes = 0 WHERE seq = ?", dropped)


def trim(database: sqlite3.Connection, rows: int) -> None:
    """Drops all but the newest rows, then what no run refers to any more."""
    database.execute(
        "DELETE FROM runs WHERE seq <= (SELECT seq FROM runs ORDER BY seq DESC LIMIT 1 OFFSET ?)",
        (rows,),
    )
    sweep(database)


def sweep(database: sqlite3.Connection) -> None:
    """Drops bundles, texts and adapters that no run refers to."""
    for table, column in (("bundles", "bundle"), ("adapters", "adapter")):
        database.execute(
            f"DELETE FROM {table} WHERE NOT EXISTS "
            f"(SELECT 1 FROM runs WHERE runs.{column} = {table}.id)"
        )
    database.execute(
        "DELETE FROM texts WHERE NOT EXISTS "
        "(SELECT 1 FROM bundle_files WHERE bundle_files.text = texts.id)"
    )
