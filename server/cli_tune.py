"""`fa2 tune`: measures tiles on this adapter and keeps the faster ones for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from server import tune as tables
from server import tune_earlier, tuned
from server.adapters import adapter_name
from server.bench_report import BenchReport
from server.benches import LEAST_SAMPLES, MOST_SAMPLES
from server.cases import Case
from server.cli_files import try_places
from server.cli_groups import grouped
from server.cli_options import DeviceOptions, TimeoutOption
from server.console import make_console
from server.harness import Harness
from server.progress_bar import ProgressBar
from server.selection import REGISTRY
from server.tune_results import TuneResults
from server.tune_search import Found, search, told


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
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=LEAST_SAMPLES,
            max=MOST_SAMPLES,
            help="Of each candidate, after a warm-up.",
        ),
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

    Every candidate is judged before it is timed, by GPU timestamps where there are any. The fastest
    is timed again by turns with what was before, and kept if it is faster than the noise. The table
    is loaded by every later command and page that this adapter computes for. What was measured is
    kept when you interrupt. Exit codes are those of `fa2 bench`.
    """
    named = [Case.parse(text) for text in cases or []]
    try_places(out)
    results = TuneResults(named={str(case) for case in named})
    console = make_console()
    table: _Table | None = None
    try:
        with Harness(timeout_s=timeout, **place.arguments()) as harness:
            known: dict[str, Any] = harness.environment.get("adapter") or {}
            engine = str(harness.environment.get("engine") or "")
            table = _Table(out or tuned.path_of(known, tuned.tuned_folder()), known, engine)
            for text in table.dropped:
                console.print(f"no longer known, dropped from the table: {text}", markup=False)
            chosen = named or tables.default_cases(bool(known.get("fallback")))
            console.print(
                f"tuning {len(chosen)} case{'s' * (len(chosen) != 1)} · "
                f"{engine or 'unknown browser'} · {adapter_name(known)}"
            )

            def measure(case: Case, table: Mapping[str, Any]) -> BenchReport:
                return harness.bench(case, samples=samples, tuned=table)

            bar = ProgressBar(console)
            with bar.shown(len(chosen)):
                for case in chosen:
                    bar.running(str(case))
                    result = search(case, choices(case.op), measure, rounds)
                    bar.advance()
                    results.add(result)
                    for text in lines(result):
                        console.print(text, markup=False)
    except KeyboardInterrupt:
        results.interrupted = True
    finally:
        # Also when interrupted, and when the browser could not be started again.
        if table is not None and (results.found or table.dropped):
            table.save(results.found)
            console.print(f"written to {table.path}", markup=False)
    if results.interrupted:
        console.print("INTERRUPTED")
    if code := results.exit_code():
        raise typer.Exit(code)


class _Table:
    """The table of an adapter: what an earlier command measured, and what this one adds.

    Raises CaseError, before anything is measured, for a file that is none, is of another adapter
    or cannot be written.
    """

    def __init__(self, path: Path, adapter: Mapping[str, Any], engine: str) -> None:
        try_places(path)
        self.path, self._earlier = path, tune_earlier.read(path, adapter)
        self._adapter, self._engine = adapter, engine

    @property
    def dropped(self) -> Sequence[str]:
        """What of the earlier command cannot be kept, and why."""
        return self._earlier.dropped

    def save(self, found: Sequence[Found]) -> None:
        every = self._earlier.beside(found)
        tuned.save(tables.table(every, self._adapter, self._engine), self.path)


def choices(op: str) -> list[str]:
    """Names of the kernels that may compute it, without the baseline."""
    rows = json.loads(REGISTRY.read_text(encoding="utf-8"))["kernels"]
    return [row["name"] for row in rows if row["op"] == op and row["family"] != "baseline"]


def lines(found: Found | BenchReport) -> list[str]:
    """What was found for a case, and every candidate that computed it wrongly; or why nothing."""
    if isinstance(found, BenchReport):
        return [f"NOT TIMED  {found.case}: {found.message}"]
    before, after = found.before_ns / 1e6, found.after_ns / 1e6
    doubt = [f"  not kept, {found.unconfirmed}"] if found.unconfirmed else []
    return [
        f"{found.case}  {before:.4g} ms -> {after:.4g} ms ({before / after:.2f}x, {found.clock} "
        f"time), {found.tried} tried, {found.refused} refused: {told(found) or 'nothing faster'}",
        *doubt,
        *(f"  wrong, passed over: {text}" for text in found.wrong),
    ]
