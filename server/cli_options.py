"""Options that several commands share: which browser, how it is started, which adapter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from server.errors import CaseError
from server.settings import DEFAULT_PORT


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

_RUNNING = "A browser that runs already"

CdpOption = Annotated[
    str | None,
    typer.Option(
        "--cdp",
        metavar="URL",
        help="Open the page in a Chromium that was started with --remote-debugging-port, or in a "
        "Selenium grid's session, by its DevTools URL (http://… or ws://…).",
        rich_help_panel=_RUNNING,
    ),
]
PlaywrightWsOption = Annotated[
    str | None,
    typer.Option(
        "--playwright-ws",
        metavar="URL",
        help="Open the page in a Chromium of a Playwright server (`playwright run-server`).",
        rich_help_panel=_RUNNING,
    ),
]
ListenOption = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Where the run's own server listens (127.0.0.1 and a free port); other machines get "
        "in with a token.",
        rich_help_panel=_RUNNING,
    ),
]
ServeUrlOption = Annotated[
    str | None,
    typer.Option(
        "--serve-url",
        metavar="URL",
        help="Where that browser finds this server, if not where it listens: https, or a loopback "
        "address that is forwarded here.",
        rich_help_panel=_RUNNING,
    ),
]

_ELSEWHERE = "A page that somebody opened"

PageOption = Annotated[
    str | None,
    typer.Option(
        "--page",
        metavar="NAME",
        help="Run on the page of this name (or id) that is open on a running `fa2 serve`.",
        rich_help_panel=_ELSEWHERE,
    ),
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="Where that `fa2 serve` is: what it printed. Else this machine, port FA2_PORT or "
        f"{DEFAULT_PORT}.",
        rich_help_panel=_ELSEWHERE,
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="Its token, if the URL does not hold it; better in FA2_TOKEN, where no other user of "
        "this machine reads it.",
        rich_help_panel=_ELSEWHERE,
    ),
]


def _positive(kappa: float) -> float:
    if not 0 < kappa < math.inf:
        raise CaseError(f"--kappa {kappa:g} must be a positive number; 4 is the default")
    return kappa


def _finite(param: typer.CallbackParam, value: float | None) -> float | None:
    """Refuses inf, which typer takes for a number that is large enough."""
    if value == math.inf:
        raise CaseError(f"{param.opts[0]} {value:g} must be a number of seconds that ends")
    return value


def seconds_option(name: str, help: str, **more: Any) -> Any:
    """An option in seconds that end; ``more`` as ``typer.Option`` takes it."""
    return typer.Option(name, metavar="S", min=0.001, callback=_finite, help=help, **more)


KappaOption = Annotated[
    float,
    typer.Option("--kappa", metavar="X", help="Scales all error bounds.", callback=_positive),
]
TimeoutOption = Annotated[
    float,
    seconds_option(
        "--timeout",
        "Seconds for a small case; the predicted work of a large one is added, at "
        "FA2_FLOPS_PER_S operations a second (10⁹).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class BrowserOptions:
    """A browser that is started here."""

    browser: BrowserOption = None
    launch: LaunchOption = None
    browser_arg: BrowserArgOption = None
    adapter: AdapterOption = AdapterChoice.any
    headed: HeadedOption = False

    @property
    def launcher(self) -> str | None:
        return self.launch.value if self.launch else None

    def arguments(self) -> dict[str, Any]:
        """Those of a Harness."""
        return {
            "browser": self.browser,
            "adapter": self.adapter.value,
            "launch": self.launcher,
            "headed": self.headed,
            "browser_args": self.browser_arg or (),
        }


@dataclass(frozen=True, kw_only=True)
class DeviceOptions(BrowserOptions):
    """The same, and what its device is to do without."""

    without: WithoutOption = None

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "without": self.without or ()}


@dataclass(frozen=True, kw_only=True)
class PlaceOptions(DeviceOptions):
    """The same, or a browser that runs already, or a page that somebody opened."""

    cdp: CdpOption = None
    playwright_ws: PlaywrightWsOption = None
    listen: ListenOption = None
    serve_url: ServeUrlOption = None
    page: PageOption = None
    server: ServerOption = None
    token: TokenOption = None

    def __post_init__(self) -> None:
        """Raises CaseError for what says where a page is without naming one."""
        if self.page is None and (self.server is not None or self.token is not None):
            option = "--token" if self.server is None else "--server"
            raise CaseError(f"{option} says where a page is open; name the page with --page")

    def arguments(self) -> dict[str, Any]:
        return {
            **super().arguments(),
            "cdp": self.cdp,
            "playwright_ws": self.playwright_ws,
            "listen": self.listen,
            "serve_url": self.serve_url,
            "page": self.page,
            "server": self.server,
            "token": self.token,
        }
