"""One browser with one page, connected to our server and seen to have the adapter wanted."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Any, Protocol

from server.adapters import check_adapter
from server.browser import Browser
from server.endpoint import Endpoint
from server.errors import NoBrowser
from server.launch import Launched, Launcher, Options, launch
from server.security import PAGE
from server.service import Service

CONNECT_S = 30.0
POLL_S = 0.1


@dataclass(frozen=True)
class Opening:
    """How a browser is opened, the first time and again after a crash."""

    browser: Browser | Endpoint
    launcher: Launcher
    options: Options
    path: str = PAGE  # of the page that is opened
    url: str = ""  # of the server, as the browser reaches it; "" = as it listens

    def told(self) -> dict[str, Any]:
        """In plain values, for whoever wants to do the same elsewhere."""
        options = self.options
        return {
            "browser": self.program,
            "launcher": self.launcher,
            "args": list(options.args),
            "adapter": options.adapter,
            "headed": options.headed,
            "webgpu": options.webgpu,
        }

    @property
    def program(self) -> str:
        """Which browser, without the folders of this machine."""
        return self.browser.path.name if isinstance(self.browser, Browser) else str(self.browser)


class OpenPage(Protocol):
    """A page that does what a worker is asked for: one of a browser started here, or another."""

    page: str
    environment: dict[str, Any]

    @property
    def launched(self) -> Launched | None:
        """The browser, if it was started or opened from here."""

    @property
    def young(self) -> bool:
        """It may lose its first device for no fault of a kernel."""
        ...

    @property
    def usable(self) -> bool:
        """It is connected, as far as is known."""
        ...

    def close(self) -> None:
        """Ends what was opened for it."""


class Session:
    """Raises NoBrowser when no page connects, NoAdapter when it offers no fitting adapter."""

    def __init__(self, service: Service, opening: Opening) -> None:
        self._service, self._opening = service, opening
        self.page = secrets.token_urlsafe(16)
        without = opening.options.without
        query = f"&without={','.join(without)}" if without else ""
        if (token := service.settings.token) is not None:
            query += f"&token={token.get_secret_value()}"
        url = f"{opening.url or service.url}{opening.path}?page={self.page}{query}"
        self.launched: Launched = launch(opening.browser, url, opening.launcher, opening.options)
        try:
            self.environment = self._connect()
            check_adapter(self.environment, opening.options.adapter, self._program)
        except BaseException:
            self.launched.close()
            raise

    @property
    def young(self) -> bool:
        """A Chromium that somebody started a moment ago may lose its first device (seen over CDP);
        the switches of those that are started here spare them that.
        """
        return isinstance(self._opening.browser, Endpoint)

    @property
    def usable(self) -> bool:
        """The browser lives and its page is connected."""
        return self.launched.alive() and self._service.pages.connected(self.page)

    def close(self) -> None:
        self.launched.close()

    def _connect(self) -> dict[str, Any]:
        deadline = time.monotonic() + CONNECT_S
        while time.monotonic() < deadline:
            environment = self._service.pages.wait_for_environment(self.page, POLL_S)
            if environment is not None:
                return environment
            if not self.launched.alive():
                raise NoBrowser(f"{self._program} ended before its page was up; {self._last()}")
        if isinstance(self._opening.browser, Endpoint):
            at = self._opening.url or self._service.url
            raise NoBrowser(
                f"{self._program} was given the page at {at}, which said nothing within "
                f"{CONNECT_S:g} s; the browser must reach this server there: --serve-url and "
                f"--listen, or a tunnel, see to that; {self._last()}"
            )
        raise NoBrowser(
            f"{self._program} was started, but its page said nothing within {CONNECT_S:g} s; "
            f"{self._last()}"
        )

    @property
    def _program(self) -> str:
        browser = self._opening.browser
        return str(browser.path if isinstance(browser, Browser) else browser)

    def _last(self) -> str:
        lines = [line for line in self.launched.console if line.strip()][-5:]
        return "its last lines: " + " | ".join(lines) if lines else "it printed nothing"
