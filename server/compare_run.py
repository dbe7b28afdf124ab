"""Two kernels on one case: judged, held against each other, and timed by turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from server.bench_report import BenchReport
from server.cases import Case
from server.compare import Difference, differences
from server.compare_sides import Side
from server.harness import Harness
from server.report import Report, jsonable

TURNS = ((0, 1), (1, 0))
"""Who is timed first changes, so that a machine that warms up or slows down is nobody's gain."""


@dataclass(frozen=True)
class Ratio:
    """A's median over B's. ``low`` and ``high``: what the middle 60 % of their samples leave open,
    over all rounds."""

    value: float
    low: float
    high: float


@dataclass
class Compared:
    """``reports`` and ``benches`` of A and B."""

    case: Case
    sides: tuple[Side, Side]
    reports: list[Report] = field(default_factory=list)
    outputs: dict[str, Difference] = field(default_factory=dict)
    benches: tuple[list[BenchReport], list[BenchReport]] = field(default_factory=lambda: ([], []))

    @property
    def same(self) -> bool:
        """Both ran the same kernel and text, whatever the sides are called: what differs is noise.

        The digest of a backward does not cover the forward before it, which may have been edited.
        """
        a, b = self.reports
        if not a.shader_sha256 or (a.kernel, a.shader_sha256) != (b.kernel, b.shader_sha256):
            return False
        return self.case.op == "forward" or not (a.edited or b.edited)

    @property
    def ratio(self) -> Ratio | None:
        """None unless both were timed."""
        spans = [_span(side) for side in self.benches]
        if None in spans:
            return None
        (low_a, a, high_a), (low_b, b, high_b) = (span for span in spans if span is not None)
        return Ratio(a / b, low_a / high_b, high_a / low_b)

    def to_dict(self) -> dict[str, Any]:
        ratio = self.ratio
        return {
            "case": str(self.case),
            "a": self._side(0),
            "b": self._side(1),
            "same": self.same,
            "outputs": {name: one.to_dict() for name, one in self.outputs.items()},
            "time": ratio and {"ratio": ratio.value, "low": ratio.low, "high": ratio.high},
        }

    def _side(self, n: int) -> dict[str, Any]:
        return {
            "side": self.sides[n].label,
            "notes": list(self.sides[n].notes),
            "report": self.reports[n].to_dict(),
            "times": [
                {key: jsonable(value) for key, value in bench.to_dict().items() if key in _TIMES}
                for bench in self.benches[n]
            ],
        }


_TIMES = ("status", "message", "median_ns", "p20_ns", "p80_ns", "wall_ns", "clock", "tflops")


def run_both(
    harness: Harness,
    case: Case,
    sides: tuple[Side, Side],
    *,
    kappa: float,
    timed: bool = True,
    watch: Callable[[str], None] = lambda what: None,
) -> Compared:
    """What failed is not timed; ``watch`` is told what comes next. Raises as Harness.run does."""
    found = Compared(case, sides)
    kept = []
    for side in sides:
        watch(f"{side.label}: judged")
        report = harness.run(side.case(case), kappa=kappa, **side.options)
        found.reports.append(replace(report, message=side.named_again(report.message)))
        kept.append(dict(harness.last_outputs))
    found.outputs = differences(case, *kept)
    if timed:
        for turn in TURNS:
            for n in turn:
                if found.reports[n].ok:
                    watch(f"{sides[n].label}: timed")
                    options = sides[n].options
                    bench = harness.bench(sides[n].case(case), kappa=kappa, **options)
                    found.benches[n].append(bench)
    return found


def _span(benches: Sequence[BenchReport]) -> tuple[float, float, float] | None:
    """Lowest 20 %, mean of the medians, highest 80 % over the rounds."""
    spans = [b.timing.ns for b in benches if b.timing is not None and b.timing.ns is not None]
    if not spans:
        return None
    median = sum(one.median for one in spans) / len(spans)
    return min(one.p20 for one in spans), median, max(one.p80 for one in spans)
