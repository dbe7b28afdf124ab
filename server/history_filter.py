"""Which rows of the history are meant: by kind, case, kernel, status, adapter and time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from server.errors import CaseError

STATUSES = ("pass", "fail", "vacuous", "error", "skip", "timed")
KINDS = ("run", "bench", "golden", "train")
MOST = 1000  # rows of one answer
LONGEST = 200  # characters of a pattern

_DURATION = re.compile(r"([0-9]{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True, kw_only=True)
class Filter:
    """``case``, ``kernel`` and ``adapter`` are globs, or words that may stand anywhere.

    ``kind``, ``status``: one or more with commas. ``since``: 30m, 24h, 7d, 2w or a date (ISO 8601,
    UTC where it says nothing else). ``before``: only rows older than this one (the ``next`` of an
    answer).
    """

    kind: str = ""
    case: str = ""
    kernel: str = ""
    status: str = ""
    adapter: str = ""
    since: str = ""
    before: int | None = None
    limit: int = 100

    def sql(self, now: datetime | None = None) -> tuple[str, list[object]]:
        """A condition on ``runs`` and ``adapters`` and its values.

        Raises CaseError for what is none of these, naming it.
        """
        if not 1 <= self.limit <= MOST:
            raise CaseError(f"limit={self.limit}: 1 to {MOST}; `before` gives the rest")
        terms, values = ["1"], list[object]()
        for name, pattern, column in (
            ("case", self.case, "runs.case_id"),
            ("kernel", self.kernel, "runs.kernel || ' ' || runs.own"),
            ("adapter", self.adapter, "lower(coalesce(adapters.name, ''))"),
        ):
            if pattern:
                terms.append(f"{column} GLOB ?")
                values.append(glob(name, pattern.lower() if name == "adapter" else pattern))
        for name, words, known in (
            ("kind", self.kind, KINDS),
            ("status", self.status, STATUSES),
        ):
            if words:
                wanted = some_of(name, words, known)
                terms.append(f"runs.{name} IN ({', '.join('?' * len(wanted))})")
                values += wanted
        if self.since:
            terms.append("runs.finished >= ?")
            values.append(moment(self.since, now).timestamp())
        if self.before is not None:
            terms.append("runs.seq < ?")
            values.append(self.before)
        return " AND ".join(terms), values


def glob(name: str, pattern: str) -> str:
    """A pattern as SQLite takes it; a plain word may stand anywhere.

    >>> glob("case", "D=64"), glob("case", "forward:*")
    ('*D=64*', 'forward:*')
    """
    if len(pattern) > LONGEST:
        raise CaseError(f"{name} has {len(pattern)} characters; a pattern takes {LONGEST}")
    if any(
        "\ud800" <= sign <= "\udfff" for sign in pattern
    ):  # bytes of a terminal that are no text
        raise CaseError(f"{name}={ascii(pattern)[:60]} is no text in UTF-8")
    if not any(sign in pattern for sign in "*?["):
        return f"*{pattern}*"
    return pattern.replace("[!", "[^")  # as fnmatch has it


def some_of(name: str, text: str, known: Sequence[str]) -> list[str]:
    """
    >>> some_of("status", "fail,error", STATUSES)
    ['fail', 'error']
    """
    found = [word.strip() for word in text.split(",")]
    for word in found:
        if word not in known:
            raise CaseError(f"{name}={word[:40]!r} is unknown; use {', '.join(known)}")
    return list(dict.fromkeys(found))


def moment(text: str, now: datetime | None = None) -> datetime:
    """
    >>> moment("2026-11-30T09:00").isoformat()
    '2026-11-30T09:00:00+00:00'
    """
    if match := _DURATION.fullmatch(text.strip()):
        ago = timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
        try:
            return (now or datetime.now(UTC)) - ago
        except OverflowError:
            return datetime.fromtimestamp(0, UTC)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise CaseError(
            f"since={text[:40]!r} is no time; use 30m, 24h, 7d, 2w or a date such as 2026-11-30"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
