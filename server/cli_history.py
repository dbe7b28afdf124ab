"""`fa2 history`: the runs of earlier times on a terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from server.console import make_console
from server.errors import CaseError
from server.history import History, told
from server.history_console import print_plot, print_run, print_table
from server.history_filter import KINDS, MOST, STATUSES, Filter
from server.history_place import VARIABLE, history_file

NoHistoryOption = Annotated[
    bool,
    typer.Option("--no-history", help=f"Keep nothing of this in the history ({VARIABLE}=0 too)."),
]


def history(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="Show the report of this run: `last`, an id, or the beginning of one.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[str, typer.Option("--kind", metavar="K,…", help=", ".join(KINDS))] = "",
    case: Annotated[
        str,
        typer.Option("--case", metavar="GLOB", help="Cases; a plain word may stand anywhere."),
    ] = "",
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="GLOB", help="Kernels, also those of your own.")
    ] = "",
    status: Annotated[
        str,
        typer.Option("--status", metavar="S,…", help=", ".join(STATUSES)),
    ] = "",
    adapter: Annotated[str, typer.Option("--adapter", metavar="GLOB", help="Adapters.")] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="30m, 24h, 7d, 2w, or a date (UTC).")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="The newest so many of them.")
    ] = 20,
    plot: Annotated[
        bool, typer.Option("--plot", help="Worst |error|/allowed over the runs, oldest first.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Forget every run. There is no way back.")
    ] = False,
) -> None:
    """List finished runs, newest first, or show the report of one.

    FA2_HISTORY names the file (SQLite) in which they lie; FA2_HISTORY=0 or --no-history with a
    command keeps none.
    """
    kept = History(open_history())
    console = make_console()
    wanted = Filter(
        kind=kind, case=case, kernel=kernel, status=status, adapter=adapter, since=since
    )
    wanted.sql()  # a bad filter is one beside other words too
    if clear:
        if run or wanted != Filter():
            raise CaseError("--clear forgets every run and takes no filter")
        count = kept.clear()
        console.print(f"{count} runs forgotten; {kept.path} stays, empty")
        return
    if run is not None:
        if plot or wanted != Filter():
            raise CaseError(f"{run} is one run, which takes neither a filter nor --plot")
        found = kept.named(run)
        if as_json:
            typer.echo(json.dumps(told(found.to_dict()), indent=2, ensure_ascii=False))
        else:
            print_run(console, found)
        return
    rows = _pages(kept, wanted, limit)
    if as_json:
        typer.echo(json.dumps([told(row) for row in rows], indent=2, ensure_ascii=False))
    elif not rows:
        some = wanted != Filter()
        console.print(
            "no run is like that; `fa2 history` without filters shows all"
            if some
            else f"no runs yet in {kept.path}; `fa2 run` and `fa2 serve` keep theirs"
        )
    elif plot:
        print_plot(console, rows)
    else:
        print_table(console, rows)


def open_history() -> Path:
    """The file. Raises CaseError when the history is off."""
    path = history_file()
    if path is None:
        raise CaseError(f"the history is off: {VARIABLE} says so; unset it, or name a file with it")
    return path


def _pages(kept: History, wanted: Filter, limit: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    before = None
    while len(rows) < limit:
        size = min(MOST, limit - len(rows))
        page = kept.rows(replace(wanted, before=before, limit=size))
        rows += page
        if len(page) < size:
            break
        before = page[-1]["seq"]
    return rows
