"""`fa2 tune`: measures tiles on this adapter and keeps the faster ones for it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from server import tune as tables
from server import tuned
from server.adapters import adapter_name
from server.bench_report import BenchReport
from server.benches import LEAST_SAMPLES
from server.cases import Case
from server.cli_groups import grouped
from server.cli_options import DeviceOptions, TimeoutOption
from server.console import make_console
from server.errors import CaseError
from server.harness import Harness
from server.progress_bar import ProgressBar
from server.selection import REGISTRY
from server.tune_search import Found, search

FAILED = 1


@grouped
def tune(
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE]...",
            help="What to make faster; else lengths and head sizes that suit the adapter.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the table here instead of where it is loaded for this adapter.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", help="Samples of each candidate, 30 and up.")
    ] = LEAST_SAMPLES,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", metavar="N", min=1, help="How often each number is varied at most."
        ),
    ] = 2,
    timeout: TimeoutOption = 60.0,
    *,
    place: DeviceOptions,
) -> None:
    """Measure kernels and tiles on this adapter, and keep the faster ones for it.

    Every candidate is judged before it is timed, by GPU timestamps where there are any. The table
    is loaded by every later command and page that this adapter computes for.
    """
    if not timeout < math.inf:
        raise CaseError("--timeout takes a number of seconds that ends")
    named = [Case.parse(text) for text in cases or []]
    console = make_console()
    with Harness(timeout_s=timeout, **place.arguments()) as harness:
        known: dict[str, Any] = harness.environment.get("adapter") or {}
        path = out or tuned.path_of(known, tuned.tuned_folder())
        chosen = named or tables.default_cases(bool(known.get("fallback")))
        console.print(
            f"tuning {len(chosen)} case{'s' * (len(chosen) != 1)} · "
            f"{harness.environment.get('engine')} · {adapter_name(known)}"
        )
        bar = ProgressBar(console)

        def measure(case: Case, table: Mapping[str, Any]) -> BenchReport:
            return harness.bench(case, samples=samples, tuned=table)

        found: list[Found] = []
        with bar.shown(len(chosen)):
            for case in chosen:
                bar.running(str(case))
                result = search(case, choices(case.op), measure, rounds)
                bar.advance()
                if isinstance(result, str):
                    console.print(f"NOT TIMED  {result}", markup=False)
                    continue
                found.append(result)
                for text in lines(result):
                    console.print(text, markup=False)
        engine = str(harness.environment.get("engine") or "")
    if not found:
        raise typer.Exit(FAILED)
    earlier = tuned.read(path)
    tuned.save(tables.table(tables.with_earlier(found, earlier), known, engine), path)
    console.print(f"written to {path}", markup=False)


def choices(op: str) -> list[str]:
    """Names of the kernels that may compute it, without the baseline."""
    rows = json.loads(REGISTRY.read_text(encoding="utf-8"))["kernels"]
    return [row["name"] for row in rows if row["op"] == op and row["family"] != "baseline"]


def lines(found: Found) -> list[str]:
    """What was found for a case, and every candidate that computed it wrongly."""
    before, after = found.before_ns / 1e6, found.after_ns / 1e6
    what = [
        f"{name} {' '.join(f'{k}={v}' for k, v in tile.items())}"
        for name, tile in found.tiles.items()
    ]
    kernel = [found.kernel] if found.kernel != found.kernel_before else []
    told = ", ".join([*kernel, *what]) or "nothing faster"
    return [
        f"{found.case}  {before:.4g} ms -> {after:.4g} ms ({before / after:.2f}x, {found.clock} "
        f"time), {found.tried} tried, {found.refused} refused: {told}",
        *(f"  wrong, passed over: {text}" for text in found.wrong),
    ]
