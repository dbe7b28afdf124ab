"""Which browser to open: the one asked for, else one that is installed.

Nothing is installed here and nothing is started: see install.py and launch.py.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from server.errors import NoBrowser

Engine = Literal["chromium", "firefox"]

VARIABLE = "FA2_BROWSER"
_SYSTEM: str = sys.platform  # a plain str: type checkers would drop the other systems' branches

LINUX: dict[Engine, tuple[str, ...]] = {
    "chromium": (
        "google-chrome-stable",
        "google-chrome",
        "chromium",
        "chromium-browser",
        "microsoft-edge-stable",
        "microsoft-edge",
        "chromium-headless-shell",
    ),
    "firefox": ("firefox-esr", "firefox"),
}
MACOS: dict[Engine, tuple[str, ...]] = {
    "chromium": (
        "Google Chrome.app/Contents/MacOS/Google Chrome",
        "Chromium.app/Contents/MacOS/Chromium",
        "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
    "firefox": ("Firefox.app/Contents/MacOS/firefox",),
}
WINDOWS: dict[Engine, tuple[str, ...]] = {
    "chromium": (
        "Google/Chrome/Application/chrome.exe",
        "Chromium/Application/chrome.exe",
        "Microsoft/Edge/Application/msedge.exe",
    ),
    "firefox": ("Mozilla Firefox/firefox.exe",),
}
# What Playwright calls the program inside its download, on each system.
_PLAYWRIGHT_NAMES = {
    "chrome",
    "chrome.exe",
    "Chromium",
    "Google Chrome for Testing",
    "headless_shell",
    "headless_shell.exe",
    "chrome-headless-shell",
    "chrome-headless-shell.exe",
}


@dataclass(frozen=True)
class Browser:
    """A browser program; ``source`` says who named it."""

    path: Path
    engine: Engine
    source: str

    @property
    def headless_only(self) -> bool:
        return "headless" in self.path.name


def find(asked: str | Path | None = None, *, headed: bool = False) -> Browser:
    """The browser to open.

    ``asked`` is a path, a program name, or the word ``firefox``; without it the variable
    FA2_BROWSER counts, then what is installed, then what Playwright downloaded earlier.
    ``headed`` leaves out programs that cannot show a window.

    Raises NoBrowser with a paragraph that says what to install.
    """
    source = "--browser"
    if not asked:
        asked, source = os.environ.get(VARIABLE), VARIABLE
    if asked:
        return _named(str(asked), source)
    for browser in _everywhere("chromium"):
        if not (headed and browser.headless_only):
            return browser
    raise NoBrowser(advice("chromium"))


def advice(engine: Engine) -> str:
    """One paragraph: what to install so that ``find`` finds something."""
    if engine == "firefox":
        return (
            "No Firefox was found. Install one (Debian: apt-get install firefox-esr "
            "mesa-vulkan-drivers; elsewhere: mozilla.org/firefox, 141 or later), or name its "
            f"program with --browser PATH or {VARIABLE}=PATH."
        )
    return (
        "No browser was found: no Chrome, Chromium or Edge is installed, and Playwright has not "
        "downloaded one. Run `fa2 doctor --install`, or install one yourself (Debian, as root: "
        "apt-get install chromium-headless-shell; anywhere: python -m playwright install "
        f"chromium), or name a browser's program with --browser PATH or {VARIABLE}=PATH."
    )


def _named(asked: str, source: str) -> Browser:
    if asked == "firefox":
        for browser in _everywhere("firefox"):
            return browser
        raise NoBrowser(advice("firefox"))
    program = shutil.which(os.path.expanduser(asked))
    if program is None:
        what = "is no program that can be run" if Path(asked).exists() else "does not exist"
        raise NoBrowser(
            f"{source} names {asked!r}, which {what}. Give the path of a Chrome, Chromium, Edge "
            "or Firefox program, the word firefox, or leave it out to use an installed browser."
        )
    return Browser(Path(program), _engine(program), source)


def _engine(program: str) -> Engine:
    return "firefox" if "firefox" in Path(program).name.lower() else "chromium"


def _everywhere(engine: Engine) -> Iterator[Browser]:
    for path in _installed(engine):
        yield Browser(path, engine, "installed")
    if engine == "chromium":  # Playwright's Firefox is a patched build; we drive the real one
        for path in _downloaded():
            yield Browser(path, engine, "downloaded by Playwright")


def _installed(engine: Engine) -> Iterator[Path]:
    if _SYSTEM == "darwin":
        roots, names = [Path("/Applications"), Path.home() / "Applications"], MACOS[engine]
    elif _SYSTEM == "win32":
        variables = ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData")
        roots = [Path(os.environ[v]) for v in variables if v in os.environ]
        names = WINDOWS[engine]
    else:
        yield from (Path(p) for p in map(shutil.which, LINUX[engine]) if p)
        return
    yield from (root / name for name in names for root in roots if (root / name).is_file())


def _downloaded() -> Iterator[Path]:
    """Playwright's own Chromium builds, the newest first."""
    folders = [
        folder
        for folder in _playwright_cache().glob("chromium*-*")
        if re.fullmatch(r"chromium(_headless_shell)?-\d+", folder.name)
    ]
    for folder in sorted(folders, key=lambda f: int(f.name.rpartition("-")[2]), reverse=True):
        for path in sorted(folder.rglob("*")):
            if path.name in _PLAYWRIGHT_NAMES and path.is_file() and os.access(path, os.X_OK):
                yield path


def _playwright_cache() -> Path:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if named and named != "0":
        return Path(named)
    if _SYSTEM == "darwin":
        return Path.home() / "Library/Caches/ms-playwright"
    if _SYSTEM == "win32":
        return Path.home() / "AppData/Local/ms-playwright"
    return Path.home() / ".cache/ms-playwright"
