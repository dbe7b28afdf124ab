"""What kernels told into the buffer of `common/dbg.wgsl`: a head of eight words, then records of
four, in the order in which they happened to be written.

::

    wanted  b  h  row_first  row_end  key_first  key_end  key_tile
    kind << 24 | key tile or invocation, row or tag, column or workgroup, bits of the value

The buffer is bounded. ``wanted`` counts what was told, so the difference is what found no room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from server.cases import Case
from server.errors import CaseError
from server.outputs import OutputSpec

TENSOR = "trace"
HEAD_WORDS, RECORD_WORDS = 8, 4
LEAST_RECORDS, MOST_RECORDS = 1 << 14, 1 << 20  # 256 KiB, 16 MiB
LARGEST_TILE = 128
"""Query rows of the largest tile that a kernel has."""
MOST_SCORES = 1 << 23
"""Query rows times keys, 16 bytes each in the float64 truth of a tile: 128 MiB."""

DBG_F32, DBG_U32, DBG_VEC4 = 240, 241, 244
_CALLS = re.compile(r"\bdbg(_u|4)?\s*\(")

Words = npt.NDArray[np.uint32]
Records = tuple[Words, Words, Words, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Value:
    """One call of dbg(). ``component``: of a dbg4(), else None."""

    tag: int
    workgroup: int
    invocation: int
    component: int | None
    value: float


@dataclass(frozen=True)
class Told:
    """The records of a run. ``rows`` and ``keys``: first and end of what was to be traced."""

    b: int
    h: int
    rows: tuple[int, int]
    keys: tuple[int, int]
    key_tile: int
    wanted: int
    capacity: int
    kind: Words
    where: Words
    a: Words
    c: Words
    bits: Words

    @property
    def lost(self) -> int:
        return max(0, self.wanted - self.capacity)

    def of(self, kind: int) -> Records:
        """key tile, row, column and value of every record of one kind."""
        at = np.flatnonzero(self.kind == kind)
        return self.where[at], self.a[at], self.c[at], self.bits[at].view(np.float32)

    def by_tile(self, kind: int) -> Callable[[int], Records]:
        """The same, of the key tile that is asked for; in the order in which it was told."""
        where, rows, columns, told = self.of(kind)
        order = np.argsort(where, kind="stable")
        tiles = where[order]

        def of_tile(number: int) -> Records:
            at = order[slice(*np.searchsorted(tiles, (number, number + 1)))]
            return where[at], rows[at], columns[at], told[at]

        return of_tile


def may_tell(shaders: Mapping[str, str], own: Mapping[str, Any] | None) -> bool:
    """Whether a text may call dbg(): then there must be room for what it tells."""
    texts = [*shaders.values(), *({} if own is None else own["files"]).values()]
    return any(_CALLS.search(text) for text in texts)


def spec_of(case: Case, *, tiles: bool) -> OutputSpec:
    """The tensor that a page uploads: large enough for a tile of the case, within bounds."""
    records = 4 * LEAST_RECORDS
    if tiles:
        steps = -(-case.Tk // 8)
        scores = 5 * LARGEST_TILE * (case.Tk + LARGEST_TILE)
        records = scores + steps * LARGEST_TILE * (case.D + 8)
    records = min(max(records, LEAST_RECORDS), MOST_RECORDS)
    return OutputSpec(TENSOR, "u32", (HEAD_WORDS + RECORD_WORDS * records,))


def check(case: Case, trace: dict[str, int]) -> None:
    """Raises CaseError for a tile that the case cannot have, whatever the kernel's tiles are, and
    for a case whose float64 truth would take too much memory.
    """
    limits = {"b": case.B, "h": case.H, "i_tile": case.Tq, "j_tile": case.Tk}
    for name, limit in limits.items():
        if not 0 <= trace.get(name, 0) < limit:
            raise CaseError(f"trace: {name}={trace[name]} must be below {limit} in {case}")
    if "j_tile" in trace and case.op != "backward":
        raise CaseError(
            f"trace: j_tile={trace['j_tile']} is for a backward; a forward's tile walks all keys"
        )
    rows = min(case.Tq, LARGEST_TILE)
    if rows * case.Tk > MOST_SCORES:
        fewer = f", or Tq up to {MOST_SCORES // case.Tk}" if case.Tk <= MOST_SCORES else ""
        raise CaseError(
            f"trace: the float64 truth of a tile of {case} has {rows} rows of {case.Tk} keys, "
            f"{rows * case.Tk} scores, at most {MOST_SCORES} are taken; use Tk up to "
            f"{MOST_SCORES // rows}{fewer}"
        )


def count(words: npt.NDArray[Any] | None) -> int:
    """How many values were told, those included that found no room."""
    return 0 if words is None else int(words[0])


def decode(words: Words) -> Told:
    """Takes the tensor apart. What it says of itself is data, so nothing here trusts it."""
    head = [int(word) for word in words[:HEAD_WORDS]]
    records = words[HEAD_WORDS:].reshape(-1, RECORD_WORDS)
    told = records[: min(head[0], len(records))]
    return Told(
        b=head[1],
        h=head[2],
        rows=(head[3], head[4]),
        keys=(head[5], head[6]),
        key_tile=head[7],
        wanted=head[0],
        capacity=len(records),
        kind=told[:, 0] >> np.uint32(24),
        where=told[:, 0] & np.uint32(0xFFFFFF),
        a=told[:, 1],
        c=told[:, 2],
        bits=np.ascontiguousarray(told[:, 3]),
    )


def values(told: Told) -> list[Value]:
    """What dbg(), dbg_u() and dbg4() told, by tag, workgroup and invocation."""
    at = np.flatnonzero((told.kind >= DBG_F32) & (told.kind < DBG_VEC4 + 4))
    order = np.lexsort((told.kind[at], told.where[at], told.c[at], told.a[at]))
    found = []
    for n in at[order]:
        kind, bits = int(told.kind[n]), told.bits[n : n + 1]
        number = float(bits[0]) if kind == DBG_U32 else float(bits.view(np.float32)[0])
        component = kind - DBG_VEC4 if kind >= DBG_VEC4 else None
        tag, workgroup, invocation = int(told.a[n]), int(told.c[n]), int(told.where[n])
        found.append(Value(tag, workgroup, invocation, component, number))
    return found
