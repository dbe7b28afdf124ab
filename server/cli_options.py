"""Options that several commands share: which browser, how it is started, which adapter."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class AdapterChoice(StrEnum):
    any = "any"
    hardware = "hardware"
    software = "software"


class LaunchChoice(StrEnum):
    playwright = "playwright"
    process = "process"


_GROUP = "Browser"

BrowserOption = Annotated[
    str | None,
    typer.Option(
        "--browser",
        metavar="PATH|firefox",
        help="Program of a Chrome, Chromium, Edge or Firefox, or the word firefox; else "
        "FA2_BROWSER, else one that is installed.",
        rich_help_panel=_GROUP,
    ),
]
LaunchOption = Annotated[
    LaunchChoice | None,
    typer.Option(
        "--launch",
        help="Drive it with Playwright (the default for a Chromium), or start a plain process.",
        rich_help_panel=_GROUP,
    ),
]
BrowserArgOption = Annotated[
    list[str] | None,
    typer.Option(
        "--browser-arg",
        metavar="ARG",
        help="One more argument for the browser, as --browser-arg=--flag; may be repeated.",
        rich_help_panel=_GROUP,
    ),
]
AdapterOption = Annotated[
    AdapterChoice,
    typer.Option(
        "--adapter",
        help="Which kind of WebGPU adapter is acceptable; another kind ends with exit code 3.",
        rich_help_panel=_GROUP,
    ),
]
WithoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="FEATURE",
        help="A WebGPU feature that kernels must do without (shader-f16, subgroups); may be "
        "repeated.",
        rich_help_panel=_GROUP,
    ),
]
HeadedOption = Annotated[
    bool, typer.Option("--headed", help="Show the browser window.", rich_help_panel=_GROUP)
]
