"""`fa2 trace`: the state of one tile after each key tile, beside float64."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from server import grammar, trace_report
from server.adapters import adapter_name
from server.cases import Case
from server.cli_options import (
    AdapterChoice,
    AdapterOption,
    BrowserArgOption,
    BrowserOption,
    HeadedOption,
    LaunchOption,
    WithoutOption,
)
from server.console import Printer, make_console
from server.errors import CaseError
from server.harness import Harness
from server.results import ENDED, FAILED, NOTHING_RAN, USAGE
from server.trace import Quantity, Step, Trace
from server.trace_choice import worst_tile
from server.trace_reference import BY_ROW
from server.trace_words import SYMBOLS, sentence

MOST_VALUES = 40


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
    kappa: Annotated[float, typer.Option("--kappa", metavar="X", help="Scales all bounds.")] = 4.0,
    rows: Annotated[
        bool, typer.Option("--rows", help="m_i, l_i and alpha of every row of every step.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0.001, help="Seconds for a small case.")
    ] = 60.0,
    browser: BrowserOption = None,
    launch: LaunchOption = None,
    browser_arg: BrowserArgOption = None,
    adapter: AdapterOption = AdapterChoice.any,
    without: WithoutOption = None,
    headed: HeadedOption = False,
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
    if not 0 < kappa < math.inf:
        raise CaseError(f"--kappa {kappa:g} must be a positive number; 4 is the default")
    wanted = Case.parse(case)
    changes: dict[str, Any] = {} if kernel is None else {"kernel": kernel}
    if seed is not None:
        changes["seed"] = grammar.read_value("seed", seed)
    wanted = wanted.replace(**changes)
    console = make_console()
    with Harness(
        browser,
        adapter.value,
        timeout,
        launch=launch.value if launch else None,
        headed=headed,
        browser_args=browser_arg or (),
        without=without or (),
    ) as harness:
        environment = harness.environment
        place = {"b": b, "h": h, "i_tile": tile, "j_tile": key_tile}
        asked = {name: n for name, n in place.items() if n is not None}
        if not asked.keys() - {"j_tile"}:
            report = harness.run(wanted, kappa=kappa)
            done = harness.last_done
            asked = worst_tile(wanted, report, done.tile if done else None) | asked
        asked = {"b": 0, "h": 0} | asked
        report = harness.run(wanted, kappa=kappa, trace=asked)
        found, done = harness.last_trace(), harness.last_done
    engine = environment.get("engine") or "unknown browser"
    console.print(f"{wanted} · {engine} · {adapter_name(environment.get('adapter'))}")
    Printer(console).report(report)
    if report.status in ("skip", "error") or found is None or done is None:
        kind = report.error.kind if report.error else ""
        ended = ENDED if kind in ("timeout", "device-lost") else NOTHING_RAN
        raise typer.Exit(USAGE if report.status == "skip" else ended)
    _show(console, found, list(done.traced), float(wanted.scale_f32), every=rows)
    if json_file is not None:
        text = json.dumps(trace_report.to_dict(found, wanted, done, kappa), indent=1)
        _write(json_file, text.encode())
    if npz_file is not None:
        _write(npz_file, trace_report.npz(found))
    if found.departure is not None or report.status != "pass":
        raise typer.Exit(FAILED)


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CaseError(f"{path} cannot be written: {error.strerror or error}") from None


def _show(console: Console, found: Trace, traced: list[str], scale: float, *, every: bool) -> None:
    told = found.told
    first, end = told.rows
    console.print()
    console.print(
        f"b={told.b} h={told.h}, rows {first} to {end - 1}, told by {', '.join(traced)}: "
        f"{told.wanted} values{f', {told.lost} of them without room' if told.lost else ''}"
    )
    console.print("worst error / allowed, in the order in which they are computed:")
    departs = found.departure
    for number, step in enumerate(found.steps):
        cells = "  ".join(_cell(name, q) for name, q in step.quantities.items())
        here = departs is not None and departs.step == number
        keys = f"keys {step.keys[0]}–{step.keys[1] - 1}"
        console.print(f"{'▶' if here else ' '} {step.title:<14} {keys:<14} {cells}")
        if every or here:
            for line in _rows(step, first, bad_only=not every):
                console.print(f"      {line}")
    console.print()
    console.print(sentence(found, scale))
    if found.values:
        _values(console, found)


def _cell(name: str, quantity: Quantity) -> str:
    mark = "!" if quantity.worst > 1 else " "
    return f"{name} {quantity.worst:.3g}{mark}"


def _rows(step: Step, first: int, *, bad_only: bool) -> Iterator[str]:
    """A line a row: kernel | float64 (error / allowed) of what a row has one of."""
    names = [name for name in step.quantities if name in BY_ROW]
    for r in range(len(step.quantities[names[0]].ratio)):
        quantities = [step.quantities[name] for name in names]
        if bad_only and not any(q.ratio[r] > 1 for q in quantities):
            continue
        cells = (
            f"{SYMBOLS.get(q.name, q.name)} {q.actual[r]:.6g} | {q.expected[r]:.6g} "
            f"({q.ratio[r]:.2g})"
            for q in quantities
        )
        yield f"row {first + r}: " + "  ".join(cells)


def _values(console: Console, found: Trace) -> None:
    console.print()
    console.print(f"dbg() told {len(found.values)} values:")
    for v in found.values[:MOST_VALUES]:
        part = "" if v.component is None else f".{'xyzw'[v.component]}"
        who = f"workgroup {v.workgroup}  invocation {v.invocation}"
        console.print(f"  tag {v.tag}{part}  {who}  {v.value:.9g}")
    if len(found.values) > MOST_VALUES:
        console.print(f"  and {len(found.values) - MOST_VALUES} more; --json writes them")
