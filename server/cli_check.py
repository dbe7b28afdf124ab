"""`fa2 check`: somebody's own kernel before the same judge as ours."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

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
from server.errors import CaseError
from server.harness import Harness
from server.own_check import Checking
from server.schemas_own import json_schema


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
    if not 0 < kappa < math.inf:
        raise CaseError(f"--kappa {kappa:g} must be a positive number; 4 is the default")
    checking = Checking(
        kernel,
        manifest,
        grid,
        words=words or [],
        suite=suite,
        seed=seed,
        kappa=kappa,
        bench=bench,
        files=(json_file, junit_file),
    )
    checking.load()
    with Harness(
        browser,
        adapter.value,
        timeout,
        launch=launch.value if launch else None,
        headed=headed,
        browser_args=browser_arg or (),
        without=without or (),
        history=not no_history and "check",
        cdp=cdp,
        playwright_ws=playwright_ws,
        listen=listen,
        serve_url=serve_url,
        **page_of(page, server, token),
    ) as harness:
        code = checking.round(harness)
        if watch:
            code = checking.watch(harness)
    raise typer.Exit(code)
