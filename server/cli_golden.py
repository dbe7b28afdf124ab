"""`fa2 golden`: published values, read from files, against what the kernels compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from server.cli_files import try_places, write_each
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption
from server.cli_options import PlaceOptions, TimeoutOption
from server.console import make_console
from server.golden import GoldenCase
from server.golden_console import GoldenPrinter
from server.golden_files import Unusable, read_set, sets_in
from server.golden_outcome import Outcome
from server.golden_results import GoldenResults
from server.golden_run import run_case
from server.harness import Harness
from server.history_place import history_file
from server.history_writer import HistoryWriter
from server.paths import STATIC
from server.progress_bar import ProgressBar
from server.selection import check_kernel

Tell = Callable[[Outcome], None]


@grouped
def golden(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A set of cases (a folder with index.json and .npz files), or a folder of sets.",
            show_default=False,
        ),
    ],
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="NAME", help="The kernel of every case.")
    ] = "auto",
    timeout: TimeoutOption = 60.0,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first failure or error.")
    ] = False,
    *,
    place: PlaceOptions,
    no_history: NoHistoryOption = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all outcomes as JSON.")
    ] = None,
) -> None:
    """Run golden cases, forward and backward, and judge them by the files' own tolerances.

    Cases that need what the kernels lack are refused and counted by what they need.
    Exit codes are those of `fa2 run`; when every case is refused it is 1.
    """
    check_kernel(kernel)
    # All of them before a browser starts: a broken file is a mistake in the command.
    cases = [case for found in sets_in(folder) for case in read_set(found)]
    try_places(json_file)
    results = GoldenResults()
    printer, bar = GoldenPrinter(console := make_console()), ProgressBar(console)
    try:
        with Harness(timeout_s=timeout, **place.arguments()) as harness:
            results.environment = harness.environment
            printer.heading(len(cases), harness.environment)
            history = None if no_history else history_file()
            # Of a page that is open elsewhere, the shader texts are that server's.
            static = STATIC if place.page is None else None
            with bar.shown(len(cases)), _kept(history, harness, kernel, static) as keep:
                told = [results.outcomes.append, printer.outcome, keep]
                _run_all(harness, cases, kernel, told, bar, fail_fast=fail_fast)
    except KeyboardInterrupt:
        results.interrupted = True
    finally:
        # Also when interrupted, and when the browser could not be started again.
        write_each((json_file, results.write_json))
    printer.summary(results, len(cases))
    raise typer.Exit(results.exit_code())


def _run_all(
    harness: Harness,
    cases: Sequence[GoldenCase | Unusable],
    kernel: str,
    told: Sequence[Tell],
    bar: ProgressBar,
    *,
    fail_fast: bool,
) -> None:
    for case in cases:
        bar.running(str(case))
        outcome = run_case(harness, case, kernel)
        for tell in told:
            tell(outcome)
        bar.advance()
        if fail_fast and outcome.status in ("fail", "error"):
            break


@contextmanager
def _kept(
    history: Path | None, harness: Harness, kernel: str, static: Path | None
) -> Iterator[Tell]:
    """Keeps outcomes in the history; not what the harness runs for them, whose verdicts follow
    other bounds than the files'.
    """
    if history is None:
        yield lambda outcome: None
        return
    writer = HistoryWriter(history, origin="golden", static=static, launched=harness.opening)
    try:
        yield lambda outcome: writer.observe_golden(outcome, kernel, harness.environment)
    finally:
        writer.close()
