"""A page in a browser that runs already, somewhere: over CDP, or on a Playwright server.

The browser is not ours. We open one context with one page in it and close only that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from playwright.async_api import BrowserContext, Page, Playwright

from server.endpoint import Endpoint
from server.launch_playwright import START_S, Driven

ADVICE = (
    "It must run, and reach this server: it is told a loopback address unless --serve-url gives it "
    "another."
)


class ConnectedBrowser(Driven):
    """``flags`` are for a Playwright server that starts a browser for us; others ignore them."""

    def __init__(self, endpoint: Endpoint, url: str, flags: Sequence[str], *, headed: bool) -> None:
        self._endpoint = endpoint
        self._launch_options = {"args": list(flags), "headless": not headed}
        self._context: BrowserContext | None = None
        super().__init__(f"{endpoint} could not show the page", url, ADVICE)

    async def _open(self, playwright: Playwright) -> Page:
        milliseconds = START_S * 1000
        if self._endpoint.way == "cdp":
            self._browser = await playwright.chromium.connect_over_cdp(
                self._endpoint.url, timeout=milliseconds
            )
        else:
            self._browser = await playwright.chromium.connect(
                self._endpoint.url,
                timeout=milliseconds,
                headers={
                    "x-playwright-browser": "chromium",
                    "x-playwright-launch-options": json.dumps(self._launch_options),
                },
            )
        # A context of its own: no cookies of the person's, and one thing to close.
        self._context = await self._browser.new_context()
        return await self._context.new_page()

    async def _let_go(self) -> None:
        if self._context is not None:
            await self._context.close()
        if self._browser is not None:
            await self._browser.close()  # of a connection: only the connection
