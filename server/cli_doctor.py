"""`fa2 doctor`: what stands between this machine and a running kernel, step by step."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from server import __version__
from server import browser as browsers
from server.adapters import adapter_name
from server.browser import Browser
from server.cli_groups import grouped
from server.cli_options import BrowserOptions
from server.console import make_console
from server.errors import NoAdapter, NoBrowser
from server.harness import Harness
from server.install import install as install_browser
from server.launch import choose_launcher
from server.results import NOTHING_RAN, Results
from server.selection import select

STEPS = ("secure-context", "navigator.gpu", "adapter", "device")
FEATURES = ("shader-f16", "subgroups", "timestamp-query")  # what kernels and timings can use
PROBE = "forward:T=8,D=8"


@grouped
def doctor(
    install: Annotated[
        bool,
        typer.Option("--install", help="Install a browser if none is found (Debian: as root)."),
    ] = False,
    *,
    place: BrowserOptions,
) -> None:
    """Check browser, secure context, WebGPU, adapter, device and one kernel, with timings."""
    walk = _Walk(make_console())
    walk.say(f"fa2 {__version__} · Python {platform.python_version()} · {_packages()}")
    try:
        found = _find(place.browser, headed=place.headed, install=install, walk=walk)
        launcher = choose_launcher(found, place.launcher)
        walk.good("browser", f"{found.path} ({found.source}), started by {launcher}")
        arguments = {**place.arguments(), "browser": found.path, "launch": launcher}
        with Harness(**arguments) as harness:
            walk.good("page", f"connected: {harness.environment.get('engine')}")
            for step in STEPS:
                walk.good(step, _detail(step, harness))
            code = _dispatch(harness, walk)
    except NoBrowser as error:
        walk.bad("browser", error.message)
        code = NOTHING_RAN
    except NoAdapter as error:
        for step in STEPS[: STEPS.index(error.step)] if error.step in STEPS else ():
            walk.good(step, "")
        walk.bad(error.step, error.message)
        code = NOTHING_RAN
    raise typer.Exit(code)


class _Walk:
    """Prints a line a step, with the time since the line before."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._since = time.perf_counter()

    def say(self, text: str) -> None:
        self._console.print(text)

    def good(self, step: str, detail: str) -> None:
        self._line("ok", "green", step, detail)

    def bad(self, step: str, detail: str) -> None:
        self._line("missing", "red", step, detail)

    def _line(self, word: str, colour: str, step: str, detail: str) -> None:
        now = time.perf_counter()
        took, self._since = now - self._since, now
        time_text = f"{took * 1e3:7.0f} ms  " if took >= 0.001 else " " * 12
        rest = f"{step:<15}{time_text}{detail}".rstrip()
        self._console.print(Text.assemble((f"{word:<8}", colour), rest))


def _find(browser: str | None, *, headed: bool, install: bool, walk: _Walk) -> Browser:
    try:
        return browsers.find(browser, headed=headed)
    except NoBrowser:
        # A wrong path is the caller's mistake: installing something else would hide it.
        if not install or browser not in (None, "firefox"):
            raise
    return install_browser("firefox" if browser == "firefox" else "chromium", walk.say)


def _detail(step: str, harness: Harness) -> str:
    if step != "adapter":
        return ""
    adapter = harness.environment.get("adapter") or {}
    has = [name for name in FEATURES if name in (adapter.get("features") or ())]
    lacks = [name for name in FEATURES if name not in has]
    features = f"with {', '.join(has) or 'nothing'}, without {', '.join(lacks) or 'nothing'}"
    return f"{adapter_name(adapter)}, {features}"


def _dispatch(harness: Harness, walk: _Walk) -> int:
    """One kernel, twice: the first time it is compiled."""
    results = Results(harness.environment)
    (probe,) = select([PROBE])
    for what in ("compiled and run", "run again"):
        report = harness.run(probe.case)
        results.add(probe, report)
        if report.status != "pass":
            walk.bad("kernel", f"{PROBE}: {report.message}")
            break
        walk.good("kernel", f"{PROBE} {what} by {report.kernel}: pass")
    return results.exit_code()


def _packages() -> str:
    names = ("playwright", "numpy", "fastapi", "uvicorn")
    return ", ".join(
        f"{name} {version(name)}" if find_spec(name) else f"no {name}" for name in names
    )
