"""`fa2 run`: cases in a headless browser, a line a check, an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server import grammar, remembered
from server.cli_files import try_places, write_each
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption
from server.cli_options import KappaOption, PlaceOptions, TimeoutOption
from server.console import Printer, make_console
from server.harness import Harness
from server.junit import write_junit
from server.results import Results
from server.selection import DEFAULT_SUITE, Selected, from_ids, select
from server.why import Reasons


@grouped
def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE or GLOB]...",
            help="Case ids, or globs over the suites' case ids; without any: a suite.",
            show_default=False,
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help=f"The suite to run ({DEFAULT_SUITE} if no case is given), and where globs look "
            "(every suite).",
            show_default=False,
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option("--kernel", metavar="NAME", help="Overrides every case's kernel.")
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="N", help="Overrides every case's seed (decimal or 0x…)."),
    ] = None,
    kappa: KappaOption = 4.0,
    timeout: TimeoutOption = 60.0,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first case that does not pass.")
    ] = False,
    rerun_failed: Annotated[
        bool,
        typer.Option(
            "--rerun-failed",
            help="Of what is selected, or of everything if nothing is, run only what failed last "
            "time in this folder; if nothing of it did, all that is selected.",
        ),
    ] = False,
    *,
    place: PlaceOptions,
    no_history: NoHistoryOption = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all reports as JSON.")
    ] = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit XML file.")
    ] = None,
) -> None:
    """Run cases on the GPU of a headless browser and judge what comes back.

    A case is a string such as forward:T=48,H=4,D=16,causal=0; `fa2 list` prints many.
    """
    selected = selection(words or [], suite, kernel, seed, rerun_failed)
    try_places(json_file, junit_file)
    results = Results()
    printer = Printer(make_console())
    try:
        with Harness(
            timeout_s=timeout, history=not no_history and "run", **place.arguments()
        ) as harness:
            results.environment = harness.environment
            printer.heading(results, len(selected), kappa)
            _run_all(harness, selected, results, printer, kappa=kappa, fail_fast=fail_fast)
    except KeyboardInterrupt:
        results.interrupted = True
    finally:
        # Also when interrupted, and when the browser could not be started again.
        _keep(results, json_file, junit_file)
    printer.summary(results, len(selected))
    raise typer.Exit(results.exit_code())


def selection(
    words: Sequence[str],
    suite: str | None,
    kernel: str | None,
    seed: str | None,
    rerun_failed: bool,
) -> list[Selected]:
    changes: dict[str, object] = {}
    if kernel is not None:
        changes["kernel"] = kernel
    if seed is not None:
        changes["seed"] = grammar.read_value("seed", seed)
    selected = select(words, suite, **changes)
    if not rerun_failed:
        return selected
    failed = from_ids(remembered.failures(), **changes)
    if not words and suite is None:
        return failed or selected
    return [one for one in selected if Selected(one.case) in failed] or selected


def _run_all(
    harness: Harness,
    selected: Sequence[Selected],
    results: Results,
    printer: Printer,
    *,
    kappa: float,
    fail_fast: bool,
) -> None:
    reasons = Reasons()
    with printer.bar.shown(len(selected)):
        for one in selected:
            printer.bar.running(str(one.case))
            report = reasons.added(harness.run(one.case, kappa=kappa), harness)
            results.add(one, report)
            printer.report(report)
            if fail_fast and report.status not in ("pass", "skip"):
                break


def _keep(results: Results, json_file: Path | None, junit_file: Path | None) -> None:
    """Files and memory of what ran; a file that cannot be written does not lose the other."""
    remembered.remember((report.case for report in results.reports), results.failed)
    write_each((json_file, results.write_json), (junit_file, partial(write_junit, results)))
