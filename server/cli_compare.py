"""`fa2 compare`: two kernels on the same case, their errors and times side by side."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from server.atomic import write_text
from server.cases import Case
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
from server.compare_console import heading, print_compared
from server.compare_run import Compared, run_both
from server.compare_sides import read_side
from server.console import make_console
from server.errors import CaseError
from server.harness import Harness
from server.progress_bar import ProgressBar
from server.results import INTERRUPTED, Results
from server.selection import Selected

_SIDE = "a kernel's name, a .wgsl file, or a run of the history (`last`, or its id)."


def compare(
    case: Annotated[str, typer.Argument(metavar="CASE", help="The case that both run.")],
    a: Annotated[str, typer.Argument(metavar="A", help=f"One side: {_SIDE}")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other side, likewise.")],
    time: Annotated[
        bool, typer.Option("--time/--no-time", help="Time both by turns, too, where both pass.")
    ] = True,
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
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON.")
    ] = None,
) -> None:
    """Run a case with two kernels: |error| / allowed of each, how far their results are apart, and
    the times of those that are right.

    Exit codes are those of `fa2 run` for the two runs.
    """
    if not 0 < kappa < math.inf:
        raise CaseError(f"--kappa {kappa:g} must be a positive number; 4 is the default")
    parsed = Case.parse(case).replace(kernel="auto")
    sides = read_side(a), read_side(b)
    console, results = make_console(), Results()
    bar = ProgressBar(console)
    found: Compared | None = None
    try:
        with Harness(
            browser,
            adapter.value,
            timeout,
            launch=launch.value if launch else None,
            headed=headed,
            browser_args=browser_arg or (),
            without=without or (),
            history=not no_history and "compare",
            cdp=cdp,
            playwright_ws=playwright_ws,
            listen=listen,
            serve_url=serve_url,
            **page_of(page, server, token),
        ) as harness:
            results.environment = harness.environment
            heading(console, str(parsed), harness.environment, kappa)
            with bar.shown(6 if time else 2):
                found = run_both(harness, parsed, sides, kappa=kappa, timed=time, watch=bar.running)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    for report in found.reports:
        results.add(Selected(parsed, named=True), report)
    print_compared(console, found)
    if json_file is not None:
        _write(json_file, found, results)
    raise typer.Exit(results.exit_code())


def _write(path: Path, found: Compared, results: Results) -> None:
    environment = {key: results.environment.get(key) for key in ("adapter", "engine")}
    text = json.dumps(
        {**environment, **found.to_dict()}, indent=2, ensure_ascii=False, allow_nan=False
    )
    try:
        write_text(path, text + "\n")
    except OSError as error:
        raise CaseError(f"{path} cannot be written: {error.strerror or error}") from None
