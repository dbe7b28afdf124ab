"""`fa2 trace`: the state of one tile after each key tile, beside float64."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from server import grammar, trace_buffer, trace_report
from server.adapters import adapter_name
from server.atomic import write_bytes
from server.cases import Case
from server.cli_files import try_places, write_each, write_json
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption
from server.cli_options import KappaOption, PlaceOptions, TimeoutOption
from server.console import Printer, make_console
from server.errors import CaseError
from server.harness import Harness
from server.results import FAILED, NOTHING_RAN, Results
from server.selection import Selected
from server.trace_choice import worst_tile
from server.trace_console import show_steps, show_values


@grouped
def trace(
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case id.", show_default=False)],
    b: Annotated[int | None, typer.Option("--b", metavar="N", min=0, help="Batch.")] = None,
    h: Annotated[int | None, typer.Option("--h", metavar="N", min=0, help="Query head.")] = None,
    tile: Annotated[
        int | None,
        typer.Option(
            "--tile",
            metavar="N",
            min=0,
            help="Query tile. Without --b, --h and --tile the case runs first, and the tile of its "
            "worst element is taken.",
            show_default=False,
        ),
    ] = None,
    key_tile: Annotated[
        int | None,
        typer.Option("--key-tile", metavar="N", min=0, help="Key tile, of a backward."),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option("--kernel", metavar="NAME", help="Overrides the case's kernel.")
    ] = None,
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="N", help="Overrides the case's seed.")
    ] = None,
    kappa: KappaOption = 4.0,
    rows: Annotated[
        bool, typer.Option("--rows", help="m_i, l_i and alpha of every row of every step.")
    ] = False,
    timeout: TimeoutOption = 60.0,
    *,
    place: PlaceOptions,
    no_history: NoHistoryOption = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all rows of all steps.")
    ] = None,
    npz_file: Annotated[
        Path | None,
        typer.Option("--npz", metavar="FILE", help="Write them with S, P and O as NumPy arrays."),
    ] = None,
) -> None:
    """See why: what the kernel computes after each key tile of one query tile, beside float64, and
    the first step at which they part.

    The kernel tells its state itself, through lines of its text that are comments otherwise. Exit
    code 1 where it departs, or its outputs are wrong; 2 where the kernel cannot be traced.
    """
    if case.endswith(".wgsl"):
        raise CaseError(
            f"{case!r} is a file, and fa2 trace takes a case; a kernel of your own tells its "
            "values through dbg() in `fa2 check` (docs/own-kernels.md)"
        )
    wanted = Case.parse(case)
    changes: dict[str, Any] = {} if kernel is None else {"kernel": kernel}
    if seed is not None:
        changes["seed"] = grammar.read_value("seed", seed)
    wanted = wanted.replace(**changes)
    named = {"b": b, "h": h, "i_tile": tile, "j_tile": key_tile}
    asked = {name: n for name, n in named.items() if n is not None}
    trace_buffer.check(wanted, asked)
    try_places(json_file, npz_file)
    console = make_console()
    history = not no_history and "trace"
    with Harness(timeout_s=timeout, history=history, **place.arguments()) as harness:
        environment = harness.environment
        if not asked.keys() - {"j_tile"}:
            report = harness.run(wanted, kappa=kappa)
            asked = worst_tile(wanted, report) | asked
        asked = {"b": 0, "h": 0} | asked
        report = harness.run(wanted, kappa=kappa, trace=asked)
        found = harness.last_trace()
    engine = environment.get("engine") or "unknown browser"
    console.print(f"{wanted} · {engine} · {adapter_name(environment.get('adapter'))}")
    Printer(console).report(report)
    if report.status in ("skip", "error") or found is None:
        if report.status not in ("skip", "error"):
            console.print("Not traced: the kernels told nothing, or it is no longer kept.")
        results = Results()
        results.add(Selected(wanted, named=True), report)
        raise typer.Exit(results.exit_code() or NOTHING_RAN)
    show_steps(console, found, float(wanted.scale_f32), report, every=rows)
    show_values(console, found)
    write_json(json_file, trace_report.to_dict(found, wanted, report))
    write_each((npz_file, lambda path: write_bytes(path, trace_report.npz(found))))
    if found.departure is not None or report.status != "pass":
        raise typer.Exit(FAILED)
