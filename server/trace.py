"""A tile trace: what a kernel told of its state, beside the truth, and where they part.

A step is the end of a key tile of the forward, or a tile pair in one of the kernels of a backward.
Quantities are compared in the order in which a kernel computes them, so the first one beyond its
bound is where to look; all that follow from it are wrong too.

Memory is bounded, however long the case: the steps that are kept are those of key tiles that a row
sees or the kernel told of, up to the last one that the buffer had room for, and no more of them
than ``MOST_NUMBERS`` allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from server import trace_reference as truth
from server.attention_problem import F64, Array
from server.cases import Case
from server.inputs import few_weights, make_inputs
from server.judge import problem_of
from server.measure import Bounds
from server.trace_buffer import (
    LARGEST_TILE,
    MOST_SCORES,
    Records,
    Told,
    Value,
    decode,
    values,
)
from server.verdict import LSE_EMPTY, ratios

KINDS = {"S": 1, "m": 2, "alpha": 3, "P": 4, "l": 5, "O": 6}
"""Of the forward, as `common/trace.wgsl` numbers them."""
BACKWARD_KINDS = {"L": 1, "delta": 2, "P": 3, "dP": 4, "dS": 5}
PASSES = {"dQ": 16, "dK, dV": 32}
MARKS = {"dQ": "dq", "dK, dV": "dkdv"}
"""In the names of the kernels."""
FORWARD = "forward"
MOST_ROWS = 4 * LARGEST_TILE
"""Rows of a query tile, and keys of a tile pair."""
MOST_NUMBERS = 1 << 22
"""Elements of all quantities of all steps, 33 bytes each. Who tells all that it should fills the
buffer with a quarter of that, so only a kernel that leaves much out gets so far."""
MOST_PARTS = 1024
"""Invocations of a workgroup, so at most as many parts of an l."""


@dataclass(frozen=True)
class Quantity:
    """One quantity of a step, [rows] or [rows, columns].

    ``actual`` is NaN where nothing was told, ``ratio`` is |error| / allowed: 0 where that does not
    matter, NaN where it is unknown since records were lost, inf where a kernel told nothing.
    """

    name: str
    actual: F64
    expected: F64
    allowed: F64
    ratio: F64
    told: Array

    @property
    def unknown(self) -> int:
        """Elements of which nobody can say whether they are right."""
        return int(np.isnan(self.ratio).sum())

    @property
    def worst(self) -> float:
        known = self.ratio[~np.isnan(self.ratio)]
        return float(known.max()) if known.size else 0.0


@dataclass(frozen=True)
class Step:
    """``kind``: forward, or the kernel of a backward; ``keys``: first and end of its key tile."""

    kind: str
    number: int
    keys: tuple[int, int]
    quantities: dict[str, Quantity]
    beyond: F64 | None = None  # [rows] weights that the kernel gave to keys past the last one

    @property
    def title(self) -> str:
        return f"key tile {self.number}" if self.kind == FORWARD else f"{self.kind} kernel"


@dataclass(frozen=True)
class Departure:
    """The first quantity beyond its bound: which rows, and the element that is worst off."""

    step: int  # index into ``steps``
    quantity: str
    rows: tuple[int, ...]  # counted in the tensor
    row: int
    column: int | None
    actual: float
    expected: float
    ratio: float


@dataclass(frozen=True)
class Trace:
    """``traced``: the kernels that told it. ``left_out``: first and end of the key tiles behind the
    last step of the forward, of which nothing is known or that would take too much memory; None
    where there are none. ``v`` [Tk,Dv]: of the head.
    """

    told: Told
    traced: tuple[str, ...]
    steps: list[Step]
    departure: Departure | None = None
    left_out: tuple[int, int] | None = None
    v: F64 | None = None
    values: list[Value] = field(default_factory=list)


def trace_of(
    case: Case,
    words: Array,
    traced: Sequence[str],
    kappa: float,
    inputs: Mapping[str, Array] | None = None,
) -> Trace:
    """What was told in a run of the case's seed, or of the caller's own ``inputs``. ``traced``: the
    kernels that should tell their tiles; without any there is what dbg() told.

    Raises ValueError for a head that no page of this server's writes.
    """
    told = decode(words)
    if not traced:
        return Trace(told, (), [], values=values(told))
    _check(case, told)
    problem = problem_of(case, make_inputs(case) if inputs is None else inputs)
    few = inputs is None and few_weights(case)
    bounds = Bounds(kappa, few, case.dtype == "f16")
    place = (problem, told.b, told.h, told.rows)
    tile = truth.tile_of(*place)
    steps: list[Step] = []
    left_out = None
    if any("forward" in kernel for kernel in traced):
        steps, left_out = _forward(told, tile, bounds)
    if case.op == "backward":
        steps += _backward(told, truth.pair_of(*place, told.keys), bounds, backward_kinds(traced))
    departure = departure_of(steps, told.rows[0])
    return Trace(told, tuple(traced), steps, departure, left_out, tile.v, values(told))


def backward_kinds(traced: Iterable[str]) -> list[str]:
    """What kernels of these names compute of a backward.

    >>> backward_kinds(["fa2_forward_rows", "fa2_dqdkdv_wide"])
    ['dQ', 'dK, dV']
    >>> backward_kinds(["fa2_dkdv"])
    ['dK, dV']
    """
    names = list(traced)
    return [kind for kind, mark in MARKS.items() if any(mark in name for name in names)]


def _check(case: Case, told: Told) -> None:
    (first, end), (key, key_end) = told.rows, told.keys
    if not (told.b < case.B and told.h < case.H and first < end <= case.Tq):
        raise ValueError(f"the head of the trace names b={told.b}, h={told.h}, rows {told.rows}")
    if not key < key_end <= case.Tk or end - first > MOST_ROWS:
        raise ValueError(f"the head of the trace names the keys {told.keys}")
    if case.op == "backward" and key_end - key > MOST_ROWS:
        raise ValueError(f"the head of the trace names a tile of {key_end - key} keys")
    if (end - first) * case.Tk > MOST_SCORES:
        raise ValueError(f"the head of the trace names {end - first} rows of {case.Tk} keys")


def _forward(
    told: Told, tile: truth.Tile, bounds: Bounds
) -> tuple[list[Step], tuple[int, int] | None]:
    """The steps, and the key tiles behind the last of them that are left out."""
    steps: list[Step] = []
    if told.key_tile < 1:
        return steps, None
    Tk = tile.s.shape[1]
    records = {name: told.by_tile(kind) for name, kind in KINDS.items()}
    of_forward = np.isin(told.kind, list(KINDS.values()))
    spoken_of = set(np.unique(told.where[of_forward]).tolist())
    last = max(spoken_of, default=-1)
    numbers = 0
    for number, expected in enumerate(truth.forward(tile, told.key_tile, bounds)):
        start = number * told.key_tile
        visited = np.asarray((expected["S"].value > -np.inf).any(axis=1))
        if number not in spoken_of and not visited.any():
            continue
        numbers += sum(one.value.size for one in expected.values())
        if numbers > MOST_NUMBERS or (told.lost and number > last):
            return steps, (number, -(-tile.end // told.key_tile))
        keys = (start, min(start + told.key_tile, Tk))
        found = {}
        for name in truth.FORWARD:
            _, rows, columns, told_values = records[name](number)
            first = 0 if name == "O" else start
            laid = _laid_out(name, expected[name], rows, columns, told_values, told.rows[0], first)
            found[name] = _compared(name, *laid, expected[name], told.lost > 0, visited)
        beyond = _beyond(records["P"](number), told.rows, Tk)
        steps.append(Step(FORWARD, number, keys, found, beyond))
    return steps, None


def _beyond(weights: Records, rows: tuple[int, int], Tk: int) -> F64:
    """What a row's keys past the last one weigh in a key tile; 0 in a right kernel."""
    _, row, columns, told = weights
    found = np.zeros(rows[1] - rows[0])
    at = row.astype(np.int64) - rows[0]
    inside = (columns >= Tk) & (at >= 0) & (at < len(found))
    np.add.at(found, at[inside], told[inside].astype(np.float64))
    return found


def _backward(told: Told, pair: truth.Pair, bounds: Bounds, kinds: Sequence[str]) -> Iterator[Step]:
    expected = truth.backward(pair, bounds)
    visited = np.asarray((expected["P"].value != 0).any(axis=1))
    for number, (kind, base) in enumerate(PASSES.items()):
        if kind not in kinds:
            continue
        found = {}
        for name in truth.BACKWARD:
            _, rows, columns, told_values = told.of(base + BACKWARD_KINDS[name])
            laid = _laid_out(
                name, expected[name], rows, columns, told_values, told.rows[0], told.keys[0]
            )
            found[name] = _compared(name, *laid, expected[name], told.lost > 0, visited)
        yield Step(kind, number, told.keys, found)


def _laid_out(
    name: str,
    expected: truth.Expected,
    rows: Array,
    columns: Array,
    told: Array,
    row0: int,
    column0: int,
) -> tuple[F64, Array]:
    """The records in the shape of the truth, and where there are any. What is masked is −inf."""
    shape = expected.value.shape
    r, c = rows.astype(np.int64) - row0, columns.astype(np.int64) - column0
    values = told.astype(np.float64)
    found, known = np.full(shape, np.nan), np.zeros(shape, bool)
    inside = (r >= 0) & (r < shape[0])
    if name == "l":  # the parts of the invocations that share a row
        parts = np.zeros((shape[0], MOST_PARTS))
        inside &= columns < MOST_PARTS
        parts[r[inside], columns[inside]] = values[inside]
        known[r[inside]] = True
        found[known] = parts[known].sum(axis=1)
    elif len(shape) == 1:
        found[r[inside]], known[r[inside]] = values[inside], True
    else:
        inside &= (c >= 0) & (c < shape[1])
        found[r[inside], c[inside]], known[r[inside], c[inside]] = values[inside], True
    if name in ("S", "m", "L"):
        with np.errstate(invalid="ignore"):
            found = np.where(found <= LSE_EMPTY, -np.inf, found)
    return found, known


def _compared(
    name: str, actual: F64, known: Array, expected: truth.Expected, lost: bool, visited: Array
) -> Quantity:
    """``visited`` [rows]: rows that a right kernel has to work on in this step."""
    ratio = ratios(actual, expected.value, expected.allowed)
    # That nothing was told of a masked key, or of a row that sees no key here, is no fault.
    if expected.value.ndim > 1:
        visited = visited[:, None]
    needed = expected.matters & (expected.value != 0) & (expected.value > -np.inf) & visited
    missing = np.where(needed, np.nan if lost else np.inf, 0.0)
    ratio = np.where(known, np.where(expected.matters, ratio, 0.0), missing)
    return Quantity(name, actual, expected.value, expected.allowed, ratio, known)


def departure_of(steps: list[Step], row0: int) -> Departure | None:
    """The first quantity of the first step with an element beyond its bound."""
    for number, step in enumerate(steps):
        for name, quantity in step.quantities.items():
            bad = quantity.ratio > 1  # not NaN: unknown
            if not bad.any():
                continue
            flat = int(np.where(np.isnan(quantity.ratio), -1, quantity.ratio).argmax())
            row, *column = (int(n) for n in np.unravel_index(flat, quantity.ratio.shape))
            rows = np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1)) + row0
            first = 0 if name == "O" else step.keys[0]
            return Departure(
                step=number,
                quantity=name,
                rows=tuple(int(r) for r in rows),
                row=row + row0,
                column=column[0] + first if column else None,
                actual=float(quantity.actual.flat[flat]),
                expected=float(quantity.expected.flat[flat]),
                ratio=float(quantity.ratio.flat[flat]),
            )
    return None
