"""A tile trace: what a kernel told of its state, beside the truth, and where they part.

A step is the end of a key tile of the forward, or a tile pair in one of the kernels of a backward.
Quantities are compared in the order in which a kernel computes them, so the first one beyond its
bound is where to look; all that follow from it are wrong too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from server import trace_reference as truth
from server.attention_problem import F64, Array
from server.cases import Case
from server.inputs import few_weights, make_inputs
from server.judge import problem_of
from server.measure import Bounds
from server.trace_buffer import Told, Value, decode, values
from server.verdict import LSE_EMPTY, ratios

KINDS = {"S": 1, "m": 2, "alpha": 3, "P": 4, "l": 5, "O": 6}
"""Of the forward, as `common/trace.wgsl` numbers them."""
BACKWARD_KINDS = {"L": 1, "delta": 2, "P": 3, "dP": 4, "dS": 5}
PASSES = {"dQ": 16, "dK, dV": 32}
MARKS = {"dQ": "_dq", "dK, dV": "_dkdv"}
"""In the names of the kernels."""
FORWARD = "forward"
MOST_ROWS = 512
"""Rows of a query tile: no kernel has more than a quarter of that."""
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
    """``lost`` records found no room, so that some steps may be unknown."""

    told: Told
    steps: list[Step]
    departure: Departure | None
    tile: truth.Tile | None
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
        return Trace(told, [], None, None, values(told))
    _check(case, told)
    problem = problem_of(case, make_inputs(case) if inputs is None else inputs)
    few = inputs is None and few_weights(case)
    bounds = Bounds(kappa, few, case.dtype == "f16")
    tile = truth.tile_of(problem, told.b, told.h, told.rows)
    steps: list[Step] = []
    if any("forward" in kernel for kernel in traced):
        steps += _forward(told, tile, bounds)
    if case.op == "backward":
        kinds = [kind for kind, mark in MARKS.items() if any(mark in name for name in traced)]
        steps += _backward(told, tile, bounds, kinds)
    return Trace(told, steps, departure_of(steps, told.rows[0]), tile, values(told))


def _check(case: Case, told: Told) -> None:
    (first, end), (key, key_end) = told.rows, told.keys
    if not (told.b < case.B and told.h < case.H and first < end <= case.Tq):
        raise ValueError(f"the head of the trace names b={told.b}, h={told.h}, rows {told.rows}")
    if not key < key_end <= case.Tk or end - first > MOST_ROWS:
        raise ValueError(f"the head of the trace names the keys {told.keys}")


def _forward(told: Told, tile: truth.Tile, bounds: Bounds) -> Iterator[Step]:
    if told.key_tile < 1:
        return
    Tk = tile.s.shape[1]
    for number, expected in enumerate(truth.forward(tile, told.key_tile, bounds)):
        start = number * told.key_tile
        keys = (start, min(start + told.key_tile, Tk))
        found = {}
        visited = np.asarray((expected["S"].value > -np.inf).any(axis=1))
        for name in truth.FORWARD:
            tiles, rows, columns, told_values = told.of(KINDS[name])
            at = tiles == number
            first = 0 if name == "O" else start
            laid = _laid_out(
                name, expected[name], rows[at], columns[at], told_values[at], told.rows[0], first
            )
            found[name] = _compared(name, *laid, expected[name], told.lost > 0, visited)
        yield Step(FORWARD, number, keys, found, _beyond(told, number, Tk))


def _beyond(told: Told, number: int, Tk: int) -> F64:
    """What a row's keys past the last one weigh in a key tile; 0 in a right kernel."""
    tiles, rows, columns, weights = told.of(KINDS["P"])
    found = np.zeros(told.rows[1] - told.rows[0])
    row = rows.astype(np.int64) - told.rows[0]
    at = (tiles == number) & (columns >= Tk) & (row >= 0) & (row < len(found))
    np.add.at(found, row[at], weights[at].astype(np.float64))
    return found


def _backward(told: Told, tile: truth.Tile, bounds: Bounds, kinds: Sequence[str]) -> Iterator[Step]:
    expected = truth.backward(tile, told.keys, bounds)
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
