"""Opening the page in a browser, and closing it again: the one place that knows which browser.

Playwright drives a Chromium when it is installed; ``process`` starts any browser as a plain
process. Firefox is always a plain process, since Playwright drives only its own Firefox builds.
The page works by itself, so a driver is a comfort (console, screenshots), not a need.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from server.browser import Browser
from server.errors import CaseError
from server.launch_flags import Adapter, chromium_flags, firefox_preferences

Launcher = Literal["playwright", "process"]
LAUNCHERS: tuple[Launcher, ...] = ("playwright", "process")


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


def choose_launcher(browser: Browser, asked: str | None) -> Launcher:
    """``asked``, checked against what the browser and this installation can do."""
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


def launch(
    browser: Browser,
    url: str,
    *,
    launcher: Launcher,
    adapter: Adapter = "any",
    headed: bool = False,
    args: Sequence[str] = (),
    webgpu: bool = True,
) -> Launched:
    """Open ``url``. Raises NoBrowser, with the browser's last words, when it does not start."""
    if launcher == "playwright":
        from server.launch_playwright import (
            PlaywrightBrowser,
        )  # an optional package, and slow to import

        flags = chromium_flags(webgpu=webgpu, adapter=adapter, extra=args)
        return PlaywrightBrowser(browser, url, flags, headed=headed)
    from server.launch_process import ProcessBrowser, chromium_command, firefox_command

    if browser.engine == "firefox":
        preferences = firefox_preferences(webgpu=webgpu)
        return ProcessBrowser(
            lambda profile: firefox_command(browser, url, profile, preferences, headed, args)
        )
    flags = chromium_flags(webgpu=webgpu, adapter=adapter, extra=args)
    return ProcessBrowser(lambda profile: chromium_command(browser, url, profile, flags, headed))
