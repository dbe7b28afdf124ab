"""A script on the page of a harness, with what it returns."""

from __future__ import annotations

import os
from typing import Any

import pytest

from server.harness import Harness
from server.launch_playwright import PlaywrightBrowser


def on_the_page(harness: Harness, script: str, *arguments: Any) -> Any:
    """What ``script`` gives, as ``PlaywrightBrowser.evaluate`` does. A browser that somebody asked
    for with other means of launching has no scripts: a skip by name, but never in CI."""
    harness.run("forward:T=8,D=4")  # the page is up, whatever the tests before did to it
    if not isinstance(harness.launched, PlaywrightBrowser):
        refused = pytest.fail if os.environ.get("CI") else pytest.skip
        refused("scripts run on a page of Playwright only")
    return harness.launched.evaluate(script, *arguments)
