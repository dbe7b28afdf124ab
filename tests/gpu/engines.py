"""The browsers that tests start by themselves, and what is said where one is missing.

``harness`` starts what the plugin's options name. These are for tests of the page, which drive a
Chromium, and of the second engine.
"""

from __future__ import annotations

import os

import pytest

from server import browser
from server.errors import NoAdapter, NoBrowser
from server.pytest_plugin import refuse


def program(config: pytest.Config, name: str | None = None) -> browser.Browser:
    """The browser of that name, or the one that is found without. Where there is none, the test is
    skipped, or fails under --require-webgpu (of Firefox: in CI only)."""
    try:
        return browser.find(name)
    except NoBrowser as problem:
        if name == "firefox":
            refuse_firefox(config, problem)
        refuse(config, problem)


def chromium(config: pytest.Config) -> browser.Browser:
    """The same for a Chromium: it is what Playwright drives without a build of its own."""
    found = program(config)
    if found.engine != "chromium":
        refuse(config, NoBrowser(f"{found.path} is not a Chromium, which tests of the page drive"))
    return found


def refuse_firefox(config: pytest.Config, problem: NoBrowser | NoAdapter) -> None:
    """A second engine is a luxury on a person's machine, so `make test` does without it there. CI
    installs one: there it must not go missing unnoticed."""
    if not os.environ.get("CI"):
        pytest.skip(f"{problem.message} (in CI, where the variable CI is set, this is an error)")
    refuse(config, problem)
