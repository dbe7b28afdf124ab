"""`fa2 repro`: a run of the history as a zip file. `fa2 replay`: such a file, run here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from server.atomic import write_bytes
from server.cli_files import try_places, write_each, write_json
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption, open_history
from server.cli_options import PlaceOptions, TimeoutOption
from server.console import make_console
from server.harness import Harness
from server.history import History
from server.replay import plan
from server.replay import replay as run_again
from server.replay_console import print_replayed
from server.repro import NOT_REPEATED, name_of, write_repro
from server.repro_file import read_repro
from server.results import Results
from server.selection import Selected, kernel_features


def repro(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="`last` (run or benchmark), an id, or the beginning of one."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to; else fa2-STATUS-RUN.zip."),
    ] = None,
) -> None:
    """Pack a run up: case, verdict, shader texts, outputs, environment. `fa2 replay` runs it.

    `fa2 history` lists the runs. The file names no folder of yours.
    """
    kept_runs = History(open_history())
    kept = kept_runs.named(run, besides=NOT_REPEATED)
    file = out or Path(f"{name_of(kept)}.zip")
    data = write_repro(kept_runs, kept)
    write_each((file, lambda path: write_bytes(path, data)))
    outputs = "with its outputs" if kept.row["kept_bytes"] else "its outputs were not kept"
    make_console().print(
        f"{file}: {kept.row['case']}, {kept.row['status']}, {len(kept.texts)} texts, {outputs}, "
        f"{len(data)} bytes"
    )


@grouped
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="What `fa2 repro` has written.")],
    timeout: TimeoutOption = 60.0,
    *,
    place: PlaceOptions,
    no_history: NoHistoryOption = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write both verdicts as JSON.")
    ] = None,
) -> None:
    """Run a packed-up run here: with its shader texts, judged anew, beside the recorded verdict.

    The exit code is that of the new verdict. Features that were withheld there are withheld here.
    """
    recorded = read_repro(file)
    try_places(json_file)
    plan(recorded)  # what cannot be repeated is said before a browser starts
    # A feature that no kernel uses changes nothing: what was withheld of those is not asked for.
    there = [name for name in recorded.asked.without if name in kernel_features()]
    withheld = dict.fromkeys([*there, *(place.without or ())])
    arguments = {**place.arguments(), "without": tuple(withheld)}
    with Harness(timeout_s=timeout, history=not no_history and "replay", **arguments) as harness:
        found = run_again(recorded, harness, with_tiles=place.page is None)
    print_replayed(make_console(), found)
    write_json(json_file, found.to_dict())
    results = Results()
    results.add(Selected(recorded.case, named=True), found.report)
    raise typer.Exit(results.exit_code())
