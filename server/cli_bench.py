"""`fa2 bench`: cases judged, then timed, in a headless browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from server import bench_report
from server.bench_console import BenchPrinter
from server.bench_results import BenchResults, LeftOut
from server.bench_spec import MOST_S, predicted_s, series
from server.benches import LEAST_SAMPLES, MOST_SAMPLES
from server.cases import Case
from server.cli_files import try_places, write_each
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption
from server.cli_options import PlaceOptions, seconds_option
from server.cli_peers import Comparing, PeersDirOption, PeersOption
from server.console import make_console
from server.errors import CaseError, Unsupported
from server.harness import Harness
from server.launch import Options
from server.peers_console import PeersPrinter
from server.peers_report import PeerReport
from server.report import RunError
from server.selection import check_kernel, select


@grouped
def bench(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE or GLOB]...",
            help="Case ids, or globs over the suites' case ids.",
            show_default=False,
        ),
    ] = None,
    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep",
            help="Forward and backward, f32 and f16, D 64 and 128, 16 heads, causal, T 512 to "
            "32768: as far as --limit allows.",
        ),
    ] = False,
    kernel: Annotated[
        str | None, typer.Option("--kernel", metavar="NAME", help="Overrides every case's kernel.")
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=LEAST_SAMPLES,
            max=MOST_SAMPLES,
            help="Of each case, after a warm-up.",
        ),
    ] = LEAST_SAMPLES,
    limit: Annotated[
        float,
        seconds_option(
            "--limit",
            "A sweep leaves out what would take longer, by the speed of the case before.",
        ),
    ] = MOST_S,
    timeout: Annotated[
        float,
        seconds_option(
            "--timeout",
            "Seconds without a sign of life; the predicted work of a large case is added, "
            "at FA2_FLOPS_PER_S operations a second (10⁹).",
        ),
    ] = 60.0,
    *,
    place: PlaceOptions,
    no_history: NoHistoryOption = False,
    peers: PeersOption = None,
    peers_dir: PeersDirOption = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write every number as JSON, as they come."),
    ] = None,
) -> None:
    """Time cases on the GPU of a headless browser; each has to pass the judge first.

    GPU time by timestamps, TFLOP/s by 4·B·H·D·(visible pairs), 2.5 times that for a backward, and
    the share of a peak that is measured in the same browser.
    """
    if not (words or sweep):
        raise CaseError("nothing to time: name a case such as forward:T=1024,H=16,D=64, or --sweep")
    if peers is not None and (place.page or place.cdp or place.playwright_ws):
        raise CaseError("--peers compares in a browser that is started here; leave it out")
    changes = {} if kernel is None else {"kernel": kernel}
    chosen = select(words, **changes) if words else []
    check_kernel(kernel or "auto")
    named = [one.case for one in chosen]
    swept = list(series(kernel or "auto")) if sweep else []
    results = BenchResults(named={str(one.case) for one in chosen if one.named})
    try_places(json_file)
    console = make_console()
    printer, peers_printer = BenchPrinter(console), PeersPrinter(console)
    comparing = None if peers is None else Comparing(peers, peers_dir, peers_printer)
    try:
        with Harness(
            timeout_s=timeout, history=not no_history and "bench", **place.arguments()
        ) as harness:
            results.environment = harness.environment
            printer.heading(results, samples)
            command = _Command(harness, results, printer, samples, json_file)
            with printer.bar.shown(len(named) + sum(map(len, swept))):
                command.run_all(named)
                for cases in swept:
                    command.run_series(cases, limit)
        if comparing is not None:
            comparing.run(
                [Case.parse(report.case) for report in results.reports if report.ok],
                place.browser,
                place.launcher,
                Options(
                    place.adapter.value,
                    place.headed,
                    tuple(place.browser_arg or ()),
                    without=tuple(place.without or ()),
                ),
                timeout,
                command.keep_peer,
            )
    except KeyboardInterrupt:
        results.interrupted = True
    finally:
        # Also when interrupted, and when the browser could not be started again.
        write_each((json_file, results.write_json))
    peers_printer.summary(results.peers)
    printer.summary(results)
    raise typer.Exit(results.exit_code())


class _Command:
    """One run of the command: a browser, what came of it so far, and where it is told."""

    def __init__(
        self,
        harness: Harness,
        results: BenchResults,
        printer: BenchPrinter,
        samples: int,
        json_file: Path | None,
    ) -> None:
        self._harness, self._results, self._printer = harness, results, printer
        self._samples, self._json_file = samples, json_file

    def run_all(self, cases: Sequence[Case]) -> None:
        for case in cases:
            self._run(case)

    def run_series(self, cases: Sequence[Case], limit_s: float) -> None:
        """Cases that grow, until one would take too long, is refused or fails."""
        for n, case in enumerate(cases):
            speed = self._results.flops_per_s()
            takes_s = predicted_s(case, self._samples, speed) if speed else 0.0
            if takes_s > limit_s:
                reason = (
                    f"the first would take about {takes_s:.0f} s by the speed of the case before "
                    f"it; --limit is {limit_s:g} s"
                )
                self._leave_out(cases[n:], reason)
                return
            report = self._run(case)
            if not report.ok:
                reason = f"longer than {case}, which was not timed"
                self._leave_out(cases[n + 1 :], reason)
                return

    def keep_peer(self, report: PeerReport) -> None:
        self._results.peers.append(report)
        write_each((self._json_file, self._results.write_json))

    def _run(self, case: Case) -> bench_report.BenchReport:
        try:
            report = self._harness.bench(case, samples=self._samples, watch=self._printer.watch)
        except CaseError as error:  # its results are more than the judge takes
            refusal = RunError(Unsupported.kind, error.message)
            report = bench_report.failed(case, None, refusal)
        self._results.reports.append(report)
        self._printer.report(report)
        write_each((self._json_file, self._results.write_json))
        return report

    def _leave_out(self, cases: Sequence[Case], reason: str) -> None:
        for case in cases:
            self._results.left_out.append(LeftOut(case, reason))
            self._printer.bar.advance()
