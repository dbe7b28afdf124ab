"""One entry into the tables of the history: its row, its report, its texts, its outputs."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Mapping

import numpy as np

from server.history_entry import Circumstances, Entry, dumps
from server.history_limits import Limits

FAST = 1  # of zlib: floating-point noise does not get smaller by trying harder


def insert(
    database: sqlite3.Connection,
    entry: Entry,
    *,
    circumstances: Circumstances,
    texts: Mapping[str, str],
    limits: Limits,
) -> None:
    """Writes an entry within the transaction that is open; one that is there already is replaced.

    ``texts``: the shader files on disk, before the entry's own edits.
    """
    row = entry.row(circumstances.origin)
    row["adapter"] = _adapter(database, entry)
    row["bundle"] = _bundle(database, {**texts, **entry.texts})
    database.execute("DELETE FROM runs WHERE id = ?", (entry.id,))
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    seq = database.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", row).lastrowid
    database.execute(
        "INSERT INTO reports (seq, message, report, request, digests) VALUES (?, ?, ?, ?, ?)",
        (
            seq,
            entry.message,
            dumps(entry.report()),
            dumps({**entry.request(), "environment": circumstances.environment}),
            dumps(entry.digests()),
        ),
    )
    if entry.keeps_outputs and entry.tensor_bytes <= limits.run_output_bytes:
        _outputs(database, seq, entry)


def _outputs(database: sqlite3.Connection, seq: int | None, entry: Entry) -> None:
    total = 0
    for name, array in entry.tensors.items():
        packed = zlib.compress(np.ascontiguousarray(array).data, FAST)
        total += len(packed)
        database.execute(
            "INSERT INTO outputs (seq, name, bytes, packed) VALUES (?, ?, ?, ?)",
            (seq, name, len(packed), packed),
        )
    database.execute("UPDATE runs SET kept_bytes = ? WHERE seq = ?", (total, seq))


def _adapter(database: sqlite3.Connection, entry: Entry) -> int | None:
    found = entry.adapter_facts()
    if found is None:
        return None
    name, facts = found
    digest = hashlib.sha256(facts.encode()).hexdigest()
    return _id_of(
        database,
        "adapters",
        digest,
        "INSERT INTO adapters (sha256, name, facts) VALUES (?, ?, ?)",
        (digest, name, facts),
    )


def _bundle(database: sqlite3.Connection, files: Mapping[str, str]) -> int:
    digests = {path: hashlib.sha256(_bytes(text)).hexdigest() for path, text in files.items()}
    digest = hashlib.sha256(dumps(dict(sorted(digests.items()))).encode()).hexdigest()
    known = database.execute("SELECT id FROM bundles WHERE sha256 = ?", (digest,)).fetchone()
    if known is not None:
        return int(known[0])
    bundle = database.execute("INSERT INTO bundles (sha256) VALUES (?)", (digest,)).lastrowid
    assert bundle is not None
    for path, text in files.items():
        data = _bytes(text)
        values = (digests[path], len(data), zlib.compress(data))
        sql = "INSERT INTO texts (sha256, bytes, packed) VALUES (?, ?, ?)"
        number = _id_of(database, "texts", digests[path], sql, values)
        database.execute(
            "INSERT INTO bundle_files (bundle, path, text) VALUES (?, ?, ?)", (bundle, path, number)
        )
    return bundle


def _id_of(
    database: sqlite3.Connection, table: str, digest: str, sql: str, values: tuple[object, ...]
) -> int:
    """The row with this digest, made by ``sql`` if there is none."""
    known = database.execute(f"SELECT id FROM {table} WHERE sha256 = ?", (digest,)).fetchone()
    if known is not None:
        return int(known[0])
    number = database.execute(sql, values).lastrowid
    assert number is not None
    return number


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # JSON may carry half of a surrogate pair
