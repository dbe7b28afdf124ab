"""`fa2 train`: a language model trained in a headless browser, judged by its losses, or timed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from server import grammar
from server.cli_files import try_places, write_each
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption
from server.cli_options import BrowserOptions, seconds_option
from server.console import make_console
from server.errors import CaseError
from server.harness import Harness
from server.presets import PRESETS
from server.training_console import TrainingPrinter
from server.training_results import TrainingResults
from server.training_spec import TrainingSpec


class GateChoice(StrEnum):
    drift = "drift"
    overfit = "overfit"
    none = "none"


class AttentionChoice(StrEnum):
    fa2 = "fa2"
    baseline = "baseline"


@grouped
def train(
    gate: Annotated[
        GateChoice | None,
        typer.Option(
            "--gate",
            help="drift: 50 steps beside NumPy, within 5 % (the default); overfit: 150 steps on "
            "one batch, to a loss under 0.5; none: steps without a verdict on them.",
            show_default=False,
        ),
    ] = None,
    bench: Annotated[
        bool,
        typer.Option(
            "--bench",
            help="No gate: time one step with the baseline's attention and one with FA2.",
        ),
    ] = False,
    preset: Annotated[
        str,
        typer.Option("--preset", metavar="NAME", help=f"One of {', '.join(PRESETS)}."),
    ] = "tiny",
    attention: Annotated[
        AttentionChoice | None,
        typer.Option(
            "--attention",
            help="The kernels (fa2; --bench takes both, one after the other).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        str,
        typer.Option("--seed", metavar="N", help="Of weights and batches (decimal or 0x…)."),
    ] = "0",
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            help="For --bench (1) and --gate none (100); the gates have their own.",
            show_default=False,
        ),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(
            "--context",
            metavar="T",
            help="Positions of a sequence, instead of the preset's.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        float,
        seconds_option(
            "--timeout",
            "Seconds for a step of a small model; the predicted work of a large one is added.",
        ),
    ] = 60.0,
    limit: Annotated[
        float | None,
        seconds_option(
            "--limit",
            "Refuse what would take longer than this by the adapter's measured speed (60 for "
            "--bench, else 300).",
            show_default=False,
        ),
    ] = None,
    *,
    place: BrowserOptions,
    no_history: NoHistoryOption = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write losses, times, verdicts.")
    ] = None,
) -> None:
    """Train a small language model on the GPU of a headless browser.

    A gate that fails ends with exit code 1; a preset that the adapter cannot hold, or is too slow
    for, is refused with the numbers and exit code 2.
    """
    if bench and gate is not None:
        raise CaseError("--bench judges no losses; leave --gate out, or --bench")
    chosen = [attention.value] if attention else ["baseline", "fa2"] if bench else ["fa2"]
    specs = [
        TrainingSpec.of(
            preset,
            gate="bench" if bench else gate.value if gate else "drift",
            attention=name,
            seed=int(grammar.read_value("seed", seed)),
            steps=steps,
            context=context,
        )
        for name in chosen
    ]
    try_places(json_file)
    results = TrainingResults()
    printer = TrainingPrinter(make_console())
    try:
        history = not no_history and "train"
        with Harness(timeout_s=timeout, history=history, **place.arguments()) as harness:
            results.environment = harness.environment
            printer.heading(specs[0], harness.environment)
            for spec in specs:
                _train(harness, spec, limit, results, printer)
    except KeyboardInterrupt:
        results.interrupted = True
    finally:
        # Also when interrupted, and when the browser could not be started again.
        write_each((json_file, results.write_json))
    printer.summary(results)
    raise typer.Exit(results.exit_code())


def _train(
    harness: Harness,
    spec: TrainingSpec,
    limit: float | None,
    results: TrainingResults,
    printer: TrainingPrinter,
) -> None:
    watcher = printer.watcher(spec)
    with watcher.shown():
        report = harness.train(
            spec.preset,
            spec.gate,
            attention=spec.attention,
            seed=spec.seed,
            steps=spec.steps,
            context=spec.config.T,
            limit_s=limit,
            watch=watcher,
        )
    results.reports.append(report)
    printer.report(report)
