"""What `fa2 bench --peers` prints: a line a comparison as it comes, then a table of ratios."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from server.bench_console import duration, print_table
from server.bench_timing import Quantiles
from server.peers_comparison import Comparison
from server.peers_report import COMPARED, ERROR, REFUSED, WRONG, PeerReport
from server.progress_bar import ProgressBar

COLOURS = {COMPARED: "green", WRONG: "red", REFUSED: "yellow", ERROR: "red"}


class PeersPrinter:
    """Prints comparisons as they come."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.bar = ProgressBar(console)

    def heading(self, titles: Sequence[str]) -> None:
        self._print("")
        self._print(
            f"Beside {', '.join(titles)}: checked against the reference first, then timed by turns "
            "with ours, wall time over queued calls on both sides."
        )

    def watch(self, comparison: Comparison) -> None:
        """Looks at a comparison under way, a few times a second."""
        self.bar.running(f"{comparison.case}: {comparison.progress}")

    def report(self, report: PeerReport) -> None:
        word = Text(f"{report.status.upper():<9}", COLOURS[report.status])
        what = report.message
        if report.ratio is not None:
            what = f"{ratio(report.ratio)} times our time; {what}"
        self._print(Text.assemble(word, f"{report.case}  {report.title}: {what}"))
        for note in report.notes:
            self._print(f"          {report.title}: {note}")

    def summary(self, reports: Sequence[PeerReport]) -> None:
        compared = [report for report in reports if report.status == COMPARED]
        if not compared:
            return
        self._print("")
        print_table(self._console, table(compared))
        self._print(
            "Medians of a call, forward + backward in one for a backward; ratio: theirs over ours, "
            "pair by pair, its median (20th–80th percentile); first: the first call, compiling "
            "included."
        )

    def _print(self, text: str | Text) -> None:
        self._console.print(text)


def table(compared: Sequence[PeerReport]) -> Table:
    """A row a comparison."""
    found = Table(box=None, pad_edge=False, header_style="bold")
    found.add_column("case", overflow="fold", min_width=24)
    found.add_column("peer", no_wrap=True)
    for name in ("theirs", "ours", "ratio", "pairs", "first", "ours first", "error"):
        found.add_column(name, justify="right", no_wrap=True)
    for report in compared:
        assert report.ns
        assert report.ours_ns
        assert report.ratio
        assert report.check
        found.add_row(
            report.case,
            report.title,
            duration(report.ns.median),
            duration(report.ours_ns.median),
            ratio(report.ratio),
            str(report.pairs),
            _or_dash(report.first_call_ns),
            _or_dash(report.ours_first_call_ns),
            f"{report.check.errors['o'].max_error:.2g}",
        )
    return found


def ratio(found: Quantiles) -> str:
    """
    >>> ratio(Quantiles(median=5.444, p20=4.74, p80=16.2))
    '5.44 (4.74–16.2)'
    """
    return f"{found.median:.3g} ({found.p20:.3g}–{found.p80:.3g})"


def _or_dash(ns: float | None) -> str:
    return "–" if ns is None else duration(ns)
