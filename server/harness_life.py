"""Server, browser and page of a Harness: how they start, how they end, what is seen of them."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from server import browser
from server.address import without_keys
from server.bench import Bench
from server.endpoint import Endpoint, Listening
from server.errors import CaseError, PageError
from server.launch import Launched, Options, choose_launcher
from server.launch_flags import ADAPTERS, Adapter
from server.remote import Remote
from server.remote_page import RemotePage
from server.remote_runs import RemoteService
from server.report import Done, Report
from server.run import Run
from server.selection import kernel_features
from server.service import Service
from server.session import Opening, Session
from server.training import Training
from server.worker import Worker


class Life:
    """What runs things for a Harness; see there for the arguments."""

    def __init__(
        self,
        browser: str | Path | None = None,
        adapter: Adapter = "any",
        timeout_s: float = 60.0,
        *,
        launch: str | None = None,
        headed: bool = False,
        browser_args: Sequence[str] = (),
        webgpu: bool = True,
        without: Sequence[str] = (),
        history: bool | str = False,
        cdp: str | None = None,
        playwright_ws: str | None = None,
        listen: str | None = None,
        serve_url: str | None = None,
        page: str | None = None,
        server: str | None = None,
        token: str | None = None,
    ) -> None:
        if adapter not in ADAPTERS:
            raise CaseError(f"adapter={adapter!r} is unknown; use one of {', '.join(ADAPTERS)}")
        if not 0 < timeout_s < float("inf"):
            raise CaseError(f"timeout_s={timeout_s!r} must be a positive number of seconds")
        self.timeout_s = timeout_s
        self._browser, self._launch = browser, launch
        self._page, self._server, self._token = page, server, token
        self._endpoint = _endpoint(cdp, playwright_ws)
        self._listening = Listening.read(listen, serve_url)
        self._origin = "python" if history is True else history or None
        for name in without:
            if name not in (known := kernel_features()):
                raise CaseError(
                    f"without={name!r} is no feature that a kernel uses; they use "
                    f"{', '.join(known)}"
                )
        started: dict[str, object] = {"browser": browser, "launch": launch}
        if self._endpoint is not None:
            _refuse(f"{self._endpoint} runs already", **started)
        if page is not None:
            started |= {"headed": headed, "browser_args": browser_args, "without": without}
            where = {"cdp": cdp, "playwright_ws": playwright_ws, "listen": listen}
            _refuse(f"the page {page!r} is open already", **started, **where, serve_url=serve_url)
        self._options = Options(adapter, headed, tuple(browser_args), webgpu, tuple(without))
        self._lock = threading.RLock()
        self._worker: Worker | None = None
        self.opening: Mapping[str, Any] = {}
        """How the browser was started, in plain values; {} for somebody's own page."""
        self.last_report: Report | None = None
        self.last_done: Done | None = None
        self.last_told: NDArray[Any] | None = None
        self.last_outputs: Mapping[str, NDArray[Any]] = {}
        self._last_run: Run | None = None

    # --- life ------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Starts server, browser and page; ``with`` does it for you."""
        with self._lock:
            if self._worker is None:
                worker = self._new_worker()
                worker.start()
                self._worker = worker
                atexit.register(self.close)
        return self

    def close(self) -> None:
        """Ends the browser with all its processes, then the server. Twice is fine."""
        atexit.unregister(self.close)
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what can be seen from outside -----------------------------------------------------------

    @property
    def current(self) -> Run | Training | Bench | None:
        """What is under way; its ``progress`` says how far."""
        return self._worker.current if self._worker else None

    @property
    def environment(self) -> dict[str, Any]:
        """What the page found: ``{"adapter": {…, "fallback": bool}, "engine": "Chromium …"}``."""
        session = self._worker.session if self._worker else None
        return session.environment if session else {}

    @property
    def launched(self) -> Launched | None:
        """The running browser; another one after a browser had to be replaced."""
        session = self._worker.session if self._worker else None
        return session.launched if session else None

    @property
    def page_console(self) -> list[str]:
        """The last console lines of the page (of a plain process: what it printed)."""
        return self.launched.console if self.launched else []

    def screenshot(self, path: str | Path) -> bool:
        """Save a PNG of the page; False where the launcher cannot take one."""
        return self.launched is not None and self.launched.screenshot(Path(path))

    def _new_worker(self) -> Worker:
        if self._page is not None:
            return self._worker_elsewhere(self._page)
        found = self._endpoint or browser.find(self._browser, headed=self._options.headed)
        launcher, place = choose_launcher(found, self._launch), self._listening
        opening = Opening(found, launcher, self._options, url=place.url)
        self.opening = opening.told()
        service = Service(origin=self._origin, launched=self.opening, listening=place)
        return Worker(service, lambda: Session(service, opening))

    def _worker_elsewhere(self, name: str) -> Worker:
        remote = Remote(self._server, self._token)
        adapter, found_before = self._options.adapter, False

        def find() -> RemotePage:
            nonlocal found_before
            found = RemotePage(remote, name, adapter, patient=found_before)
            found_before = True
            return found

        return Worker(RemoteService(remote), find)

    def _started(self) -> Worker:
        if self._worker is None:
            raise PageError("the harness is not started; use `with Harness() as h:` or h.start()")
        return self._worker


def _endpoint(cdp: str | None, playwright_ws: str | None) -> Endpoint | None:
    if cdp and playwright_ws:
        raise CaseError("cdp and playwright_ws name two browsers; give one of them")
    if cdp:
        return Endpoint("cdp", cdp)
    return Endpoint("playwright-ws", playwright_ws) if playwright_ws else None


def _refuse(why: str, **options: object) -> None:
    """Raises CaseError for what is said of a browser that is started here."""
    for name, value in options.items():
        if value:
            told = without_keys(repr(value))  # an address may hold some
            raise CaseError(f"{name}={told} is for a browser that is started here; {why}")
