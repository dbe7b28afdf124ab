"""A Chromium driven by Playwright, on an event loop in a thread of its own.

The thread is what lets a Harness work inside a running asyncio loop, and what keeps console and
crash events flowing while the caller waits for something else.
"""

from __future__ import annotations

import abc
import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser as _Browser
from playwright.async_api import ConsoleMessage, Error, Page, Playwright, async_playwright

from server.address import without_keys
from server.browser import Browser
from server.errors import NoBrowser
from server.launch_flags import runs_as_root

T = TypeVar("T")

START_S = 60.0
CLOSE_S = 5.0
KEPT_LINES = 1000


class Driven(abc.ABC):
    """One Chromium, one page. Calls come from any thread; the work happens on the loop's.

    Raises NoBrowser, which ``advice`` closes, when ``_open`` fails.
    """

    def __init__(self, name: str, url: str, advice: str) -> None:
        self.pid = 0
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._crashed = False
        self._browser: _Browser | None = None
        self._page: Page | None = None
        self._playwright: Playwright | None = None
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._on_loose_error)
        self._thread = threading.Thread(target=self._loop.run_forever, name="fa2-playwright")
        self._thread.daemon = True
        self._thread.start()
        atexit.register(self.close)
        try:
            self._call(self._start(url), START_S)
        except (Error, TimeoutError) as error:
            self.close()
            raise NoBrowser(f"{name}: {_first_lines(str(error))}. {advice}") from None
        except BaseException:
            self.close()
            raise

    @abc.abstractmethod
    async def _open(self, playwright: Playwright) -> Page:
        """Gets ``self._browser`` and an empty page of it."""

    @abc.abstractmethod
    async def _let_go(self) -> None:
        """Ends what was begun in ``_open``, if it is there."""

    @property
    def console(self) -> list[str]:
        return list(self._lines)

    def alive(self) -> bool:
        if self._crashed or self._browser is None or self._page is None:
            return False
        return self._browser.is_connected() and not self._page.is_closed()

    def screenshot(self, path: Path) -> bool:
        if self._page is None or not self.alive():
            return False
        try:
            self._call(self._page.screenshot(path=path, full_page=True), CLOSE_S)
        except (Error, TimeoutError):
            return False
        return True

    def evaluate(self, script: str, argument: Any = None, timeout_s: float = START_S) -> Any:
        """What a JavaScript function returns on the page: for small values, not for tensors."""
        assert self._page is not None
        return self._call(self._page.evaluate(script, argument), timeout_s)

    def close(self) -> None:
        atexit.unregister(self.close)
        if self._loop.is_closed():
            return
        # A GPU process in an endless kernel can hold up a polite end; then its group is killed.
        with contextlib.suppress(Error, TimeoutError):
            self._call(self._let_go(), CLOSE_S)
        self._kill()
        with contextlib.suppress(Error, TimeoutError):
            self._call(self._stop_driver(), CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()

    def _call(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise TimeoutError(f"no answer within {timeout_s:g} s") from None
        except KeyboardInterrupt:
            # Given up in the middle, a start would leave a driver that nobody stops.
            concurrent.futures.wait([future], CLOSE_S)
            raise

    async def _start(self, url: str) -> None:
        self._playwright = await async_playwright().start()
        self._page = page = await self._open(self._playwright)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._lines.append(f"uncaught: {error}"))
        page.on("crash", self._on_crash)
        page.on(
            "requestfailed",
            lambda request: self._lines.append(f"failed: {request.method} {request.url}"),
        )
        # "commit": a page that never finishes loading (its event stream stays open) is fine.
        await page.goto(url, wait_until="commit")

    def _on_loose_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Of something that nobody waits for: Ctrl+C ends the driver too, and what it was asked."""
        self._lines.append(f"playwright: {context.get('exception') or context['message']}")

    def _on_console(self, message: ConsoleMessage) -> None:
        where = message.location
        place = f" ({where['url']}:{where['lineNumber']})" if where.get("url") else ""
        self._lines.append(f"{message.type}: {message.text}{place}")

    def _on_crash(self, _page: Page) -> None:
        self._crashed = True
        self._lines.append("the page crashed")

    async def _stop_driver(self) -> None:
        if self._playwright is not None:
            await self._playwright.stop()

    def _kill(self) -> None:
        if self.pid and sys.platform != "win32":  # the driver ends with its browser on Windows
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(os.getpgid(self.pid), signal.SIGKILL)


class PlaywrightBrowser(Driven):
    """A Chromium that is started here, and ends with us."""

    def __init__(
        self, browser: Browser, url: str, flags: Sequence[str], *, headed: bool = False
    ) -> None:
        self._program, self._flags, self._headed = browser.path, list(flags), headed
        super().__init__(
            f"{browser.path} ({browser.source}) did not start",
            url,
            "Name another browser with --browser PATH, or try --launch process.",
        )

    def cdp(self, method: str) -> Any:
        """One command of the Chrome DevTools Protocol to the browser itself."""
        assert self._browser is not None
        return self._call(_cdp(self._browser, method), CLOSE_S)

    async def _open(self, playwright: Playwright) -> Page:
        self._browser = await playwright.chromium.launch(
            executable_path=self._program,
            headless=not self._headed,
            args=self._flags,
            chromium_sandbox=not runs_as_root(),
        )
        processes = await _cdp(self._browser, "SystemInfo.getProcessInfo")
        self.pid = next(p["id"] for p in processes["processInfo"] if p["type"] == "browser")
        return await self._browser.new_page()

    async def _let_go(self) -> None:
        if self._browser is not None:
            await self._browser.close()
            self.pid = 0


async def _cdp(browser: _Browser, method: str) -> Any:
    session = await browser.new_browser_cdp_session()
    try:
        return await session.send(method)
    finally:
        with contextlib.suppress(Error):
            await session.detach()


def _first_lines(text: str) -> str:
    """Playwright's error without its call log of several screens, and without keys in URLs."""
    lines = [line.strip() for line in without_keys(text).splitlines() if line.strip()]
    return " · ".join(lines[:4])[:600]
