"""Whether what a search has found is faster: timed again beside what was before, by turns.

A search times what was before it once, first, and then keeps the least of many times: on a machine
whose clock wanders that finds a gain where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

TURNS = "ABBAABBA"
"""A: what was before; B: what was found. Either is as early and as late as the other."""


@dataclass(frozen=True)
class Again:
    """Medians over the turns in nanoseconds; ``spread_ns``: how far apart the times of the less
    steady side were.
    """

    before_ns: float
    after_ns: float
    spread_ns: float

    @property
    def faster(self) -> bool:
        """By more than the times of either side differ among themselves."""
        return self.before_ns - self.after_ns > self.spread_ns


def by_turns(before: Callable[[], float | None], after: Callable[[], float | None]) -> Again | None:
    """Times both again; each call gives nanoseconds, or None where it could not be timed.

    None as soon as one could not.
    """
    times: dict[str, list[float]] = {"A": [], "B": []}
    for side in TURNS:
        ns = before() if side == "A" else after()
        if ns is None:
            return None
        times[side].append(ns)
    spread_ns = max(max(ns) - min(ns) for ns in times.values())
    return Again(median(times["A"]), median(times["B"]), spread_ns)
