"""The search for faster tiles: one number of one pass at a time, from what the plan takes anyway.

Knows nothing of browsers: `measure` judges and times a case with a table of tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from server.bench_report import BenchReport
from server.cases import Case
from server.tune_confirm import by_turns

Tile = dict[str, Any]
"""The numbers of a tile row: ``{"TX": 4, "TY": 8, "chunk": 16}``."""
Measure = Callable[[Case, Mapping[str, Any]], BenchReport]

BETTER = 0.97
"""A tile has to take less than this share of the time of the best before it: less is noise."""
MOST_NUMBER = 512


@dataclass(frozen=True)
class Found:
    """The fastest way to compute one case that passed the judge."""

    case: Case
    before_ns: float  # what the plan takes by itself
    after_ns: float
    clock: str
    kernel: str
    kernel_before: str
    tiles: Mapping[str, Tile]  # by pass, those that differ from the plan's own
    tried: int = 0
    refused: int = 0  # did not compile, did not fit
    wrong: tuple[str, ...] = ()  # what the judge said of the wrong ones
    unconfirmed: str = ""  # what seemed faster and was not when it was timed again, or ""

    @property
    def improved(self) -> bool:
        return bool(self.tiles) or self.kernel != self.kernel_before


@dataclass
class _Search:
    case: Case
    measure: Measure
    best_ns: float = float("inf")
    clock: str = ""
    tried: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def time(self, kernel: str, tiles: Mapping[str, Tile]) -> BenchReport:
        """One more candidate, counted."""
        self.tried += 1
        report = self.again(kernel, tiles)
        if report.status in ("fail", "vacuous"):
            self.wrong.append(f"{kernel} with {dict(tiles)}: {report.message.splitlines()[0]}")
        self.refused += report.status in ("error", "skip")
        if report.timing is not None:
            self.clock = report.timing.clock
        return report

    def again(self, kernel: str, tiles: Mapping[str, Tile]) -> BenchReport:
        return self.measure(self.case.replace(kernel=kernel), table_of(tiles))


def table_of(tiles: Mapping[str, Tile]) -> dict[str, Any]:
    """A table of these tiles for every request, whatever its sizes.

    Strict, so that one that does not compile says so: the next one would be timed in its place.
    """
    kernels = {name: [dict(tile)] for name, tile in tiles.items()}
    return {"kernels": kernels, "choices": [], "strict": True}


def search(
    case: Case, kernels: Sequence[str], measure: Measure, rounds: int = 2
) -> Found | BenchReport:
    """The best of ``kernels`` for ``case``, with the best tiles found, if that is still faster when
    it is timed again; or, where the case could not be timed as it is, the report on that.

    ``kernels`` are the names of the choices for the case's operation; those that refuse it are
    passed over, and all of them where the case names one itself. ``rounds``: how often every
    number of every pass is varied at most.
    """
    state = _Search(case, measure)
    own = state.time(case.kernel, {})
    if not _has_times(own):
        return own
    before_ns = state.best_ns = median_ns(own)
    kernel, report = own.kernel, own
    for name in kernels if case.kernel == "auto" else ():
        other = own if name == own.kernel else state.time(name, {})
        if _has_times(other) and median_ns(other) < BETTER * state.best_ns:
            kernel, report, state.best_ns = name, other, median_ns(other)
    tiles = _climb(state, kernel, passes_of(report), rounds)
    found = Found(
        case=case,
        before_ns=before_ns,
        after_ns=state.best_ns,
        clock=state.clock,
        kernel=kernel,
        kernel_before=own.kernel,
        tiles=tiles,
        tried=state.tried,
        refused=state.refused,
        wrong=tuple(state.wrong),
    )
    return _confirmed(state, found) if found.improved else found


def _confirmed(state: _Search, found: Found) -> Found:
    """With the times of both sides by turns; with nothing faster where those do not tell them
    apart.
    """

    why = ""

    def ns(kernel: str, tiles: Mapping[str, Tile]) -> float | None:
        nonlocal why
        report = state.again(kernel, tiles)
        if _has_times(report):
            return median_ns(report)
        why = f"not timed again: {report.message.splitlines()[0]}"
        return None

    again = by_turns(
        lambda: ns(found.case.kernel, {}),
        lambda: ns(found.kernel, found.tiles),
    )
    if again is not None and again.faster:
        return replace(found, before_ns=again.before_ns, after_ns=again.after_ns)
    if again is not None:
        why = (
            f"{again.after_ns / 1e6:.4g} ms by turns with {again.before_ns / 1e6:.4g} ms before, "
            f"whose times are {again.spread_ns / 1e6:.4g} ms apart"
        )
    return replace(
        found,
        after_ns=found.before_ns,
        kernel=found.kernel_before,
        tiles={},
        unconfirmed=f"{told(found)}: {why}",
    )


def told(found: Found) -> str:
    """The kernel that was preferred and the tiles, in a few words; "" for nothing."""
    tiles = [
        f"{name} {' '.join(f'{k}={v}' for k, v in tile.items())}"
        for name, tile in found.tiles.items()
    ]
    kernel = [found.kernel] if found.kernel != found.kernel_before else []
    return ", ".join([*kernel, *tiles])


def _climb(
    state: _Search, kernel: str, shipped: Mapping[str, Tile], rounds: int
) -> dict[str, Tile]:
    """The tiles that beat the shipped ones, by pass."""
    best: dict[str, Tile] = {}
    seen = {repr(sorted(shipped.items()))}
    for _ in range(rounds):
        improved = False
        for name in shipped:
            for candidate in neighbours(best.get(name, shipped[name])):
                tiles = {**best, name: candidate}
                key = repr(sorted({**shipped, **tiles}.items()))
                if key in seen:
                    continue
                seen.add(key)
                report = state.time(kernel, tiles)
                # A tile that does not fit is passed over for the shipped one: that is no news.
                if not _has_times(report) or passes_of(report).get(name) != candidate:
                    continue
                if median_ns(report) < BETTER * state.best_ns:
                    best, state.best_ns, improved = tiles, median_ns(report), True
        if not improved:
            break
    return best


def neighbours(tile: Tile) -> Iterator[Tile]:
    """The same tile with one number doubled or halved, one flag turned."""
    for name, value in tile.items():
        if isinstance(value, bool):
            yield {**tile, name: not value}
            continue
        if 2 * value <= MOST_NUMBER:
            yield {**tile, name: 2 * value}
        if value % 2 == 0:
            yield {**tile, name: value // 2}
    # The shape of a workgroup at the same number of invocations is one step, not two.
    if {"TX", "TY"} <= tile.keys():
        for a, b in (("TX", "TY"), ("TY", "TX")):
            if tile[b] % 2 == 0:
                yield {**tile, a: 2 * tile[a], b: tile[b] // 2}


def passes_of(report: BenchReport) -> dict[str, Tile]:
    """What ran: the numbers of the tile row of each pass that has any, by kernel."""
    passes = report.report.passes if report.report else ()
    return {one["kernel"]: dict(one["tile"]) for one in passes if one["tile"]}


def _has_times(report: BenchReport) -> bool:
    """Not so what is refused, wrong, or too short for the clock."""
    return report.timing is not None and report.timing.ns is not None


def median_ns(report: BenchReport) -> float:
    """Of a report that has times, as `_has_times` says."""
    timing = report.timing
    assert timing is not None
    assert timing.ns is not None
    return timing.ns.median
