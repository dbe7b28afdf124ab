"""`fa2 compare`: two kernels on the same case, their errors and times side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from server.cases import Case
from server.cli_files import try_places, write_json
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption
from server.cli_options import KappaOption, PlaceOptions, TimeoutOption
from server.compare_console import heading, print_compared
from server.compare_run import Compared, run_both
from server.compare_sides import read_side
from server.console import make_console
from server.harness import Harness
from server.progress_bar import ProgressBar
from server.results import INTERRUPTED, Results
from server.selection import Selected

_SIDE = "a kernel's name, a .wgsl file, or a run of the history (`last`, or its id)."


@grouped
def compare(
    case: Annotated[str, typer.Argument(metavar="CASE", help="The case that both run.")],
    a: Annotated[str, typer.Argument(metavar="A", help=f"One side: {_SIDE}")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other side, likewise.")],
    time: Annotated[
        bool, typer.Option("--time/--no-time", help="Time both by turns, too, where both pass.")
    ] = True,
    kappa: KappaOption = 4.0,
    timeout: TimeoutOption = 60.0,
    *,
    place: PlaceOptions,
    no_history: NoHistoryOption = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON.")
    ] = None,
) -> None:
    """Run a case with two kernels: |error| / allowed of each, how far their results are apart, and
    the times of those that are right.

    Exit codes are those of `fa2 run` for the two runs.
    """
    parsed = Case.parse(case).replace(kernel="auto")
    with_tiles = place.page is None
    sides = read_side(a, with_tiles=with_tiles), read_side(b, with_tiles=with_tiles)
    try_places(json_file)
    console, results = make_console(), Results()
    bar = ProgressBar(console)
    found: Compared | None = None
    try:
        with Harness(
            timeout_s=timeout, history=not no_history and "compare", **place.arguments()
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
    environment = {key: results.environment.get(key) for key in ("adapter", "engine")}
    write_json(json_file, {**environment, **found.to_dict()})
    raise typer.Exit(results.exit_code())
