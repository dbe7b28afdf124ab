"""`fa2 run`: cases in a headless browser, a line a check, an exit code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server import grammar, remembered
from server.cli_history import NoHistoryOption
from server.cli_options import (
    AdapterChoice,
    AdapterOption,
    BrowserArgOption,
    BrowserOption,
    CdpOption,
    HeadedOption,
    LaunchOption,
    ListenOption,
    PageOption,
    PlaywrightWsOption,
    ServerOption,
    ServeUrlOption,
    TokenOption,
    WithoutOption,
    page_of,
)
from server.console import Printer, make_console
from server.errors import CaseError
from server.harness import Harness
from server.junit import write_junit
from server.results import Results
from server.selection import DEFAULT_SUITE, Selected, from_ids, select


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
    kappa: Annotated[
        float, typer.Option("--kappa", metavar="X", help="Scales all error bounds.")
    ] = 4.0,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="S",
            min=0.001,
            help="Seconds for a small case; the predicted work of a large one is added.",
        ),
    ] = 60.0,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first case that does not pass.")
    ] = False,
    rerun_failed: Annotated[
        bool,
        typer.Option(
            "--rerun-failed",
            help="Run what failed last time in this folder; everything selected if nothing did.",
        ),
    ] = False,
    browser: BrowserOption = None,
    launch: LaunchOption = None,
    browser_arg: BrowserArgOption = None,
    adapter: AdapterOption = AdapterChoice.any,
    without: WithoutOption = None,
    headed: HeadedOption = False,
    cdp: CdpOption = None,
    playwright_ws: PlaywrightWsOption = None,
    listen: ListenOption = None,
    serve_url: ServeUrlOption = None,
    page: PageOption = None,
    server: ServerOption = None,
    token: TokenOption = None,
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
    if not 0 < kappa < math.inf:
        raise CaseError(f"--kappa {kappa:g} must be a positive number; 4 is the default")
    elsewhere = page_of(page, server, token)
    selected = _selection(words or [], suite, kernel, seed, rerun_failed)
    results = Results()
    printer = Printer(make_console())
    try:
        with Harness(
            browser,
            adapter.value,
            timeout,
            launch=launch.value if launch else None,
            headed=headed,
            browser_args=browser_arg or (),
            without=without or (),
            history=not no_history and "run",
            cdp=cdp,
            playwright_ws=playwright_ws,
            listen=listen,
            serve_url=serve_url,
            **elsewhere,
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


def _selection(
    words: Sequence[str],
    suite: str | None,
    kernel: str | None,
    seed: str | None,
    rerun_failed: bool,
) -> list[Selected]:
    if rerun_failed and (again := from_ids(remembered.failures())):
        return again
    changes: dict[str, object] = {}
    if kernel is not None:
        changes["kernel"] = kernel
    if seed is not None:
        changes["seed"] = grammar.read_value("seed", seed)
    return select(words, suite, **changes)


def _run_all(
    harness: Harness,
    selected: Sequence[Selected],
    results: Results,
    printer: Printer,
    *,
    kappa: float,
    fail_fast: bool,
) -> None:
    with printer.bar.shown(len(selected)):
        for one in selected:
            printer.bar.running(str(one.case))
            report = harness.run(one.case, kappa=kappa)
            results.add(one, report)
            printer.report(report)
            if fail_fast and report.status not in ("pass", "skip"):
                break


def _keep(results: Results, json_file: Path | None, junit_file: Path | None) -> None:
    """Files and memory of what ran; a file that cannot be written does not lose the other."""
    remembered.remember((report.case for report in results.reports), results.failed)
    problems = []
    for path, write in (
        (json_file, results.write_json),
        (junit_file, partial(write_junit, results)),
    ):
        try:
            if path is not None:
                write(path)
        except OSError as error:
            problems.append(f"{path} cannot be written: {error.strerror or error}")
    if problems:
        raise CaseError("; ".join(problems))
