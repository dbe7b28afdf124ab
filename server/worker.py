"""A server and a browser with one page, which does what it is given.

The browser is opened anew when it has to be: after a crash, a hang, or losses of its device.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from server.bench import Bench
from server.errors import PageError
from server.run import Run
from server.service import Serving
from server.session import OpenPage
from server.training import Training

T = TypeVar("T", Run, Training, Bench)

POLL_S = 0.2
# Chromium offers no adapter any more after a few crashes of its GPU process: do not go that far.
LOSSES_PER_BROWSER = 2


class Worker:
    """Raises NoBrowser and NoAdapter, when it starts and whenever a browser has to be opened."""

    def __init__(self, service: Serving, open_page: Callable[[], OpenPage]) -> None:
        self._service, self._open_page = service, open_page
        self.session: OpenPage | None = None
        self.current: Run | Training | Bench | None = None  # under way
        self._losses = self._done = 0  # of this session
        self._stale = False  # the browser must be opened anew before the next task

    def start(self) -> None:
        try:
            self._service.start()
            self.session = self._open_page()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the browser with all its processes, then the server."""
        session, self.session = self.session, None
        try:
            if session is not None:
                session.close()
        finally:
            self._service.stop()

    def do(
        self, submit: Callable[[Serving, str], T], watch: Callable[[T], None] = lambda task: None
    ) -> T:
        """Gives the page what ``submit(service, page)`` makes, and waits until it is finished.

        ``watch`` is called a few times a second meanwhile.
        """
        task, kind = self._once(submit, watch)
        heard = task.heard or (isinstance(task, Bench) and task.run.heard)
        young = self.session is not None and self.session.young and self._done == 1
        if kind == "no-adapter" or (kind == "device-lost" and (young or not heard)):
            # Nothing has run: the browser offers no adapter after a crash, or had died unnoticed
            # before it took the task. A new one may try, once.
            self._stale = True
            task, _ = self._once(submit, watch)
        return task

    def _once(
        self, submit: Callable[[Serving, str], T], watch: Callable[[T], None]
    ) -> tuple[T, str | None]:
        """The task, and the kind of the error that it ended in."""
        self.current = task = submit(self._service, self._page())
        self._wait(task, watch)
        self.current = None
        self._done += 1
        error = task.future.result().error
        kind = error.kind if error else None
        self._losses += kind == "device-lost"
        # After a timeout the kernel may still occupy the GPU process, for ever.
        self._stale = kind in ("timeout", "no-adapter") or self._losses >= LOSSES_PER_BROWSER
        return task, kind

    def _page(self) -> str:
        """The id of a page that works."""
        if self.session is not None and (self._stale or not self.session.usable):
            self.session.close()
            self.session = None
        if self.session is None:
            self.session = self._open_page()
            self._losses, self._done, self._stale = 0, 0, False
        return self.session.page

    def _wait(self, task: T, watch: Callable[[T], None]) -> None:
        """In small steps: Ctrl+C is answered at once, and a dead server is noticed."""
        try:
            while not concurrent.futures.wait([task.future], POLL_S).done:
                if not self._service.running:
                    raise PageError("the server in this process ended during a run")
                watch(task)
        except BaseException:
            with suppress(PageError):  # it may be the server that has ended
                self._service.cancel(task)
            raise
