"""`fa2 check`: somebody's own kernel before the same judge as ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from server.cli_files import try_places
from server.cli_groups import grouped
from server.cli_history import NoHistoryOption
from server.cli_options import KappaOption, PlaceOptions, TimeoutOption
from server.errors import CaseError
from server.harness import Harness
from server.own_check import Checking
from server.own_given import Given
from server.schemas_own import json_schema


@grouped
def check(
    kernel: Annotated[
        Path | None,
        typer.Argument(metavar="KERNEL.wgsl", help="The kernel's text.", show_default=False),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE or GLOB]...",
            help="Case ids, or globs over the suites' case ids; without any, a small suite.",
            show_default=False,
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="What the text does not say (docs/own-kernels.md); else the .json beside it.",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="EXPRESSION",
            help="Workgroups, for a kernel that needs no other manifest: --grid 'ceil_div(T, 16)' "
            "--grid 'B * H'.",
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--outputs",
            metavar="NAME",
            help="What is judged, as --outputs o for a kernel that stores no log-sum-exp; else all "
            "that a case asks for.",
        ),
    ] = None,
    suite: Annotated[
        str | None, typer.Option("--suite", metavar="NAME", help="A suite instead: `fa2 list`.")
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Run again on every save of the kernel or its manifest."),
    ] = False,
    bench: Annotated[
        bool, typer.Option("--bench", help="Time the cases that pass, too (30 samples each).")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the manifest's JSON schema and exit.")
    ] = False,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="N", help="Overrides every case's seed (decimal or 0x…)."),
    ] = None,
    kappa: KappaOption = 4.0,
    timeout: TimeoutOption = 60.0,
    *,
    place: PlaceOptions,
    no_history: NoHistoryOption = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all reports as JSON.")
    ] = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit XML file.")
    ] = None,
) -> None:
    """Judge a kernel of your own: WGSL, and a manifest for what the WGSL does not say.

    It gets what ours get: bounds against float64, guard words, two passes over poisoned outputs,
    negative controls, times. docs/own-kernels.md shows the manifest by example.
    """
    if schema:
        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        raise typer.Exit
    if kernel is None:
        raise CaseError("name the kernel's .wgsl file, as fa2 check my_kernel.wgsl")
    checking = Checking(
        Given(
            kernel, manifest, grid or (), [name for one in outputs or () for name in one.split(",")]
        ),
        words=words or [],
        suite=suite,
        seed=seed,
        kappa=kappa,
        bench=bench,
        files=(json_file, junit_file),
    )
    checking.load()
    try_places(json_file, junit_file)
    with Harness(
        timeout_s=timeout, history=not no_history and "check", **place.arguments()
    ) as harness:
        code = checking.round(harness)
        if watch:
            code = checking.watch(harness)
    raise typer.Exit(code)
