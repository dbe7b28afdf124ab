"""Times of one case: samples of two clocks, their quantiles, and what they are held against."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.bench_spec import flops, size_bytes
from server.cases import Case
from server.report import RunError

RESOLVED = 2
"""A sample must last so many steps of the timer."""


@dataclass(frozen=True)
class Quantiles:
    """Of one or more numbers; between two values where one falls between them."""

    median: float
    p20: float
    p80: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quantiles:
        """
        >>> Quantiles.of([40.0, 0.0, 10.0, 20.0, 30.0, 50.0])
        Quantiles(median=25.0, p20=10.0, p80=40.0)
        """
        ordered = sorted(values)
        return cls(statistics.median(ordered), _at(ordered, 0.2), _at(ordered, 0.8))


def _at(ordered: Sequence[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


@dataclass(frozen=True)
class Peaks:
    """The most that the adapter did, measured on the same page."""

    f32_tflops: float
    copy_gbps: float
    f16_matrix_tflops: float | None = None


@dataclass(frozen=True)
class ClockCheck:
    """Whether the GPU ran at its clock: a chain of operations timed beside the samples."""

    stable: bool
    ns: float
    best_ns: float
    spread: float


@dataclass(frozen=True, kw_only=True)
class BenchDone:
    """What the page says when it has finished, as it stands in the JSON."""

    status: str  # ok, skip or error
    kernel: str | None = None
    tile: Mapping[str, int] | None = None
    shader_sha256: str | None = None
    matrix: bool = False  # the kernel works on subgroup matrices
    scratch_bytes: int = 0
    peaks: Peaks | None = None
    gpu_ns: Sequence[float] = ()  # of a call, one a sample
    calls: int = 0  # in a sample
    resolution_ns: float | None = None
    clock: ClockCheck | None = None
    wall_ns: Sequence[float] = ()
    adapter: Mapping[str, Any] | None = None
    engine: str | None = None
    error: RunError | None = None

    @property
    def samples(self) -> Sequence[float]:
        """Of the GPU's clock where it has one, else of the wall's."""
        return self.gpu_ns or self.wall_ns

    def __post_init__(self) -> None:
        for name, kind in (("error", RunError), ("peaks", Peaks), ("clock", ClockCheck)):
            value: object = getattr(self, name)
            if isinstance(value, Mapping):  # straight from the JSON
                object.__setattr__(self, name, kind(**value))


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The numbers of one case, by one clock: "gpu" (timestamps around the dispatches) or "wall"
    (queued calls). Times are of one call, in nanoseconds; None: below the clock's resolution.
    """

    clock: str
    samples: int
    calls: int  # in a sample
    ns: Quantiles | None
    wall: Quantiles | None  # beside a GPU time; None: not measured
    resolution_ns: float | None
    flops: float
    size_bytes: int
    peak: str  # which of the peaks
    peak_tflops: float | None
    clock_check: ClockCheck | None

    @property
    def tflops(self) -> float | None:
        return None if self.ns is None else self.flops / self.ns.median / 1e3

    @property
    def gbps(self) -> float | None:
        return None if self.ns is None else self.size_bytes / self.ns.median

    @property
    def share_of_peak(self) -> float | None:
        if self.tflops is None or not self.peak_tflops:
            return None
        return self.tflops / self.peak_tflops

    def to_dict(self) -> dict[str, Any]:
        ns, wall = self.ns, self.wall
        return {
            "median_ns": ns and ns.median,
            "p20_ns": ns and ns.p20,
            "p80_ns": ns and ns.p80,
            "clock": self.clock,
            "resolution_ns": self.resolution_ns,
            "below_resolution": ns is None,
            "samples": self.samples,
            "calls_per_sample": self.calls,
            "tflops": self.tflops,
            "gbps": self.gbps,
            "share_of_peak": self.share_of_peak,
            "peak": self.peak,
            "wall_ns": wall and wall.median,
            "wall_p20_ns": wall and wall.p20,
            "wall_p80_ns": wall and wall.p80,
            "clock_check": self.clock_check and dataclasses.asdict(self.clock_check),
        }


NOT_TIMED: dict[str, Any] = {
    **dict.fromkeys(("median_ns", "p20_ns", "p80_ns", "clock", "resolution_ns")),
    **dict.fromkeys(("below_resolution", "samples", "calls_per_sample", "tflops", "gbps")),
    **dict.fromkeys(("share_of_peak", "peak", "wall_ns", "wall_p20_ns", "wall_p80_ns")),
    "clock_check": None,
}
"""The keys of ``Timing.to_dict`` where there is none."""


def timing_of(case: Case, done: BenchDone) -> Timing:
    """The page's samples, at least one of either clock, as numbers."""
    by_gpu = bool(done.gpu_ns)
    taken = done.samples
    ns = Quantiles.of(taken)
    least = RESOLVED * (done.resolution_ns or 0) if by_gpu else 0
    resolved = ns.median > 0 and ns.median * done.calls >= least
    f32 = done.peaks.f32_tflops if done.peaks else None
    f16_matrix = done.peaks.f16_matrix_tflops if done.peaks and done.matrix else None
    return Timing(
        clock="gpu" if by_gpu else "wall",
        samples=len(taken),
        calls=done.calls if by_gpu else 0,
        ns=ns if resolved else None,
        wall=Quantiles.of(done.wall_ns) if done.wall_ns else None,
        resolution_ns=done.resolution_ns,
        flops=flops(case),
        size_bytes=size_bytes(case),
        peak="f16_matrix" if f16_matrix else "f32",
        peak_tflops=f16_matrix or f32,
        clock_check=done.clock,
    )
