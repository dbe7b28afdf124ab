"""Installing a browser, on request only (`fa2 doctor --install`, `make`), never as a side effect.

On Debian as root the distribution's package is taken, since it gets security updates and brings
its libraries; everywhere else Playwright's own download.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from server import browser
from server.browser import Browser, Engine
from server.errors import NoBrowser

# Firefox needs a Vulkan driver for WebGPU; Mesa brings lavapipe, which runs on the CPU.
DEBIAN: dict[Engine, tuple[tuple[str, ...], ...]] = {
    "chromium": (("chromium-headless-shell",), ("chromium",)),
    "firefox": (("firefox-esr", "mesa-vulkan-drivers"),),
}

Say = Callable[[str], None]


def install(engine: Engine, say: Say) -> Browser:
    """Install ``engine`` and return it; ``say`` gets one line a step.

    Raises NoBrowser when no way works.
    """
    asked = "firefox" if engine == "firefox" else None
    for command in _ways(engine):
        say("+ " + " ".join(command))
        if _succeeds(command):
            try:
                return browser.find(asked)
            except NoBrowser:
                continue  # the package was a stub (Ubuntu's chromium is one); try the next way
    raise NoBrowser(browser.advice(engine))


def _ways(engine: Engine) -> list[list[str]]:
    ways = []
    if _is_root() and shutil.which("apt-get"):
        get = ["apt-get", "-qq", "-y", "-o", "Dpkg::Use-Pty=0"]
        # Best effort: packages may install from the lists that are there already.
        subprocess.run([*get, "update"], check=False, stdout=subprocess.DEVNULL)
        ways += [
            [*get, "install", "--no-install-recommends", *packages] for packages in DEBIAN[engine]
        ]
    if engine == "chromium" and importlib.util.find_spec("playwright"):
        ways.append([sys.executable, "-m", "playwright", "install", "chromium"])
    return ways


def _succeeds(command: list[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return (
        subprocess.run(
            command, check=False, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr
        ).returncode
        == 0
    )


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
