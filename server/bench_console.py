"""What `fa2 bench` prints: a line a case as it comes, then a table, peaks, what was left out."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from server.adapters import adapter_name
from server.bench import Bench
from server.bench_report import BenchReport
from server.bench_results import BenchResults
from server.bench_timing import Peaks, Timing
from server.console import COLOURS, Told
from server.progress_bar import ProgressBar

WIDE = 250
NARROW = 112  # below that rich drops the first column, since the others may not be folded
WORDS = {"timed": "TIMED", "skip": "REFUSED"}


class BenchPrinter:
    """Prints benchmarks as they come."""

    def __init__(self, console: Console) -> None:
        self._console, self._warnings = console, Told()
        self.bar = ProgressBar(console)

    def heading(self, results: BenchResults, samples: int) -> None:
        engine = results.environment.get("engine") or "unknown browser"
        adapter = adapter_name(results.environment.get("adapter"))
        self._print(f"{engine} · {adapter} · {samples} samples a case")
        if results.software:
            self._print(
                "A software adapter: it computes on the CPU; its times say nothing of a GPU."
            )

    def watch(self, bench: Bench) -> None:
        """Looks at a benchmark under way, a few times a second."""
        progress = bench.progress or bench.run.progress
        at = ""
        if progress:
            at = f": {progress['phase']}, {progress['done']:g} of {progress['total']:g}"
        self.bar.running(f"{bench.run.case}{at}")

    def report(self, report: BenchReport) -> None:
        """The line of a case, then why it has no times or is to be doubted."""
        word = WORDS.get(report.status, report.status.upper())
        colour = COLOURS.get(report.status.upper(), "green")
        timing = report.timing
        what = numbers(timing) if timing else ""
        self._print(Text.assemble((f"{word:<8}", colour), f"{report.case}  {what}".rstrip()))
        if timing is None:
            for line in report.message.splitlines():
                self._print(f"        {line}")
        for warning in self._warnings.new(report.warnings):
            self._print(f"        {warning}")
        self.bar.advance()

    def summary(self, results: BenchResults) -> None:
        """The table, the peaks, and what a sweep left out."""
        timed = [report for report in results.reports if report.timing is not None]
        if timed:
            self._print("")
            print_table(self._console, table(timed))
            clocks = sorted({report.timing.clock for report in timed if report.timing})
            self._print(
                "Medians of a call, with the 20th and 80th percentile, by the "
                + " and the ".join(_CLOCKS[clock] for clock in clocks)
                + "; wall: of a queued call."
            )
        if results.peaks:
            self._print(f"Peaks measured here: {peaks_text(results.peaks)}.")
        for reason, group in groupby(results.left_out, key=lambda one: one.reason):
            first, *others = [str(one.case) for one in group]
            last = f" … {others[-1]} ({len(others) + 1} cases)" if others else ""
            self._print(f"Left out: {first}{last}: {reason}")
        counts = results.counts
        bad = [
            f"{counts[s]} {s.upper()}" for s in ("fail", "vacuous", "error", "skip") if counts[s]
        ]
        if results.interrupted:
            self._print(Text.assemble(("INTERRUPTED", "bold yellow"), f": {len(timed)} timed"))
        elif bad:
            said = ", ".join(bad).replace("SKIP", "REFUSED")
            self._print(Text.assemble((said, "bold red"), f"; {len(timed)} timed"))
        elif timed:
            adapter = adapter_name(results.environment.get("adapter"))
            self._print(Text.assemble(("DONE", "bold green"), f": {len(timed)} timed on {adapter}"))
        else:
            self._print(Text.assemble(("NOTHING RAN", "bold red")))

    def _print(self, text: str | Text) -> None:
        self._console.print(text)


_CLOCKS = {"gpu": "GPU's clock (timestamps)", "wall": "wall clock"}


def print_table(console: Console, found: Table) -> None:
    """A terminal folds the case ids; in a file each case has a line, however long."""
    before = console.width
    console.width = max(before, NARROW) if console.is_terminal else WIDE
    try:
        console.print(found)
    finally:
        console.width = before


def table(timed: list[BenchReport]) -> Table:
    """A row a case."""
    found = Table(box=None, pad_edge=False, header_style="bold")
    found.add_column("case", overflow="fold", min_width=24)
    for name in ("kernel", "median", "p20", "p80", "wall", "TFLOP/s", "GB/s", "of peak"):
        found.add_column(name, justify="left" if name == "kernel" else "right", no_wrap=True)
    for report in timed:
        t = report.timing
        assert t is not None
        ns, wall = t.ns, t.wall
        found.add_row(
            report.case,
            report.kernel,
            duration(ns.median) if ns else "below resolution",
            duration(ns.p20) if ns else "–",
            duration(ns.p80) if ns else "–",
            duration(wall.median) if wall else "–",
            _three(t.tflops),
            _three(t.gbps),
            _share(t),
        )
    return found


def numbers(t: Timing) -> str:
    """The numbers of a case in a line."""
    if t.ns is None:
        return f"below the resolution of the clock ({t.resolution_ns or 0:g} ns)"
    share = f", {_share(t)} of the {t.peak} peak" if t.share_of_peak is not None else ""
    return f"{duration(t.ns.median)} ({t.clock}), {_three(t.tflops)} TFLOP/s{share}"


def peaks_text(peaks: Peaks) -> str:
    """
    >>> peaks_text(Peaks(f32_tflops=65.04, copy_gbps=3912.0))
    'f32 multiply-adds 65 TFLOP/s, copying 3910 GB/s'
    """
    parts = [
        f"f32 multiply-adds {_three(peaks.f32_tflops)} TFLOP/s",
        f"copying {_three(peaks.copy_gbps)} GB/s",
    ]
    if peaks.f16_matrix_tflops is not None:
        parts.insert(1, f"f16 matrices {_three(peaks.f16_matrix_tflops)} TFLOP/s")
    return ", ".join(parts)


def duration(ns: float) -> str:
    """
    >>> duration(812.4), duration(23456.0), duration(1.5e7), duration(2.25e9)
    ('812 ns', '23.5 µs', '15 ms', '2.25 s')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{_three(ns / size)} {unit}"
    return f"{_three(ns)} ns"


def _three(value: float | None) -> str:
    """Three digits, without an exponent for what is large."""
    if value is None:
        return "–"
    return f"{round(value, 3 - len(str(int(value)))):.0f}" if value >= 1000 else f"{value:.3g}"


def _share(t: Timing) -> str:
    return "–" if t.share_of_peak is None else f"{100 * t.share_of_peak:.3g} %"
