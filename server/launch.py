"""Opening the page in a browser, and closing it again: the one place that knows which browser.

Playwright drives a Chromium when it is installed; ``process`` starts any browser as a plain
process. Firefox is always a plain process, since Playwright drives only its own Firefox builds.
The page works by itself, so a driver is a comfort (console, screenshots), not a need.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from server.browser import Browser
from server.endpoint import Endpoint
from server.errors import CaseError
from server.launch_flags import Adapter, chromium_flags, firefox_preferences

Launcher = Literal["playwright", "process"]
LAUNCHERS: tuple[Launcher, ...] = ("playwright", "process")


@dataclass(frozen=True)
class Options:
    """How a browser is started, whichever it is and however it is driven."""

    adapter: Adapter = "any"
    headed: bool = False
    args: tuple[str, ...] = ()  # more of them for its command line
    webgpu: bool = True  # False: as it comes, without what makes WebGPU appear
    without: tuple[str, ...] = ()  # features of the adapter that kernels must do without


class Launched(Protocol):
    """A running browser with one page open. ``close`` ends every process of it."""

    pid: int

    @property
    def console(self) -> list[str]:
        """The page's last console lines, oldest first."""

    def alive(self) -> bool: ...

    def screenshot(self, path: Path) -> bool:
        """Save a PNG; False where this launcher cannot."""

    def close(self) -> None: ...


def choose_launcher(browser: Browser | Endpoint, asked: str | None) -> Launcher:
    """``asked``, checked against what the browser and this installation can do."""
    if isinstance(browser, Endpoint):
        if importlib.util.find_spec("playwright") is None:
            raise CaseError(f"--{browser.way} needs Playwright, which is not installed")
        return "playwright"
    if asked not in (None, *LAUNCHERS):
        raise CaseError(f"launch={asked!r} is unknown; use one of {', '.join(LAUNCHERS)}")
    if browser.engine == "firefox":
        if asked == "playwright":
            raise CaseError(
                f"{browser.path.name} cannot be driven by Playwright, which knows only its own "
                "Firefox builds; leave --launch out, or use --launch process"
            )
        return "process"
    if asked == "process":
        return "process"
    if importlib.util.find_spec("playwright") is None:
        if asked == "playwright":
            raise CaseError("Playwright is not installed; use --launch process")
        return "process"
    return "playwright"


def launch(browser: Browser | Endpoint, url: str, launcher: Launcher, options: Options) -> Launched:
    """Open ``url``. Raises NoBrowser, with the browser's last words, when it does not start."""
    if isinstance(browser, Endpoint):
        from server.launch_connected import ConnectedBrowser  # optional, and slow to import

        return ConnectedBrowser(browser, url, _flags(options), headed=options.headed)
    if launcher == "playwright":
        from server.launch_playwright import PlaywrightBrowser  # optional, and slow to import

        return PlaywrightBrowser(browser, url, _flags(options), headed=options.headed)
    from server.launch_process import ProcessBrowser, chromium_command, firefox_command

    headed = options.headed
    if browser.engine == "firefox":
        preferences = firefox_preferences(webgpu=options.webgpu)
        return ProcessBrowser(
            lambda profile: firefox_command(
                browser, url, profile, preferences, headed, options.args
            )
        )
    flags = _flags(options)
    return ProcessBrowser(lambda profile: chromium_command(browser, url, profile, flags, headed))


def _flags(options: Options) -> list[str]:
    return chromium_flags(webgpu=options.webgpu, adapter=options.adapter, extra=options.args)
