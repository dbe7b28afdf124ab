"""The pages that are connected, or were a moment ago, each with one event stream.

The loop's thread changes things; the methods that say so may be called from any thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from server.dispatch import Dispatcher
from server.problems import Problem
from server.settings import Settings
from server.sse import Stream
from server.task import Task

log = logging.getLogger("server")


@dataclass(eq=False)
class Page:
    """One browser tab. It chose its id; a stream that opens with the same id takes over."""

    id: str
    label: str = ""
    stream: Stream | None = None
    since: float = field(default_factory=time.monotonic)  # connected or gone since
    environment: dict[str, Any] | None = None
    task: Task[Any] | None = None  # sent and not yet done: a page does one at a time
    judging: int = 0  # runs of this page whose tensors the judge holds
    suspect: bool = False  # let a deadline pass and has said nothing since

    @property
    def usable(self) -> bool:
        """False once the page has said that it has no WebGPU."""
        return self.environment is None or bool(self.environment.get("ok"))

    @property
    def idle(self) -> bool:
        """Free for a task. One run may still be judged meanwhile, not more: tensors are large."""
        return self.stream is not None and self.task is None and self.judging <= 1


class Pages:
    """All pages by id. ``on_change`` is called on the loop whenever a stream opens or closes;
    ``tasks`` hands out what the pages are to do.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pages: dict[str, Page] = {}
        self._changed = threading.Condition()
        self._closed = False
        self.on_change: Callable[[Page], None] = lambda page: None
        self.tasks = Dispatcher(self)

    # From any thread

    def connected(self, page_id: str) -> bool:
        page = self._pages.get(page_id)
        return page is not None and page.stream is not None

    def environment(self, page_id: str) -> dict[str, Any] | None:
        """What the page found, ``{ok, step, message, adapter, engine}``; None before it said."""
        page = self._pages.get(page_id)
        return page.environment if page else None

    def wait_for(self, page_id: str, timeout_s: float) -> bool:
        """Blocks until the page is connected; False when it is not within ``timeout_s``."""
        with self._changed:
            return self._changed.wait_for(lambda: self.connected(page_id), timeout_s)

    def wait_for_environment(self, page_id: str, timeout_s: float) -> dict[str, Any] | None:
        """Blocks until the page has said what it found; None if not within ``timeout_s``."""
        with self._changed:
            self._changed.wait_for(lambda: self.environment(page_id) is not None, timeout_s)
        return self.environment(page_id)

    # On the loop

    def get(self, page_id: str | None) -> Page | None:
        return self._pages.get(page_id) if page_id is not None else None

    def all(self) -> list[Page]:
        return list(self._pages.values())

    def next_idle(self) -> Page | None:
        """For a task that names no page: idle, with WebGPU, responsive if possible, the oldest."""
        candidates = [page for page in self._pages.values() if page.idle and page.usable]
        return min(candidates, key=lambda page: (page.suspect, page.since), default=None)

    def open(self, page_id: str, label: str) -> Stream:
        """A stream for the page, in place of an older one. Problem 503 when there are too many."""
        if self._closed:
            raise Problem(503, "stopping", "the server is about to stop")
        page = self._page(page_id)
        if page.stream is not None:
            # A reload may reach us before the old connection is seen to be closed.
            page.stream.put("replaced", {"page": page_id})
            page.stream.end()
        stream = Stream()
        with self._changed:
            page.stream, page.since, page.suspect = stream, time.monotonic(), False
            page.label = label or page.label
            self._changed.notify_all()
        self.on_change(page)
        return stream

    def close(self, page_id: str, stream: Stream) -> None:
        """The connection of ``stream`` has ended. A page that has another one by now stays."""
        page = self._pages.get(page_id)
        if page is None or page.stream is not stream:
            return
        with self._changed:
            page.stream, page.since = None, time.monotonic()
            self._changed.notify_all()
        self.on_change(page)

    def send(self, page_id: str | None, name: str, data: Mapping[str, Any]) -> None:
        """Puts an event on the page's stream; without one it is lost.

        A page that does not read what it is sent is gone until it connects again.
        """
        page = self.get(page_id)
        if page is None or page.stream is None or page.stream.put(name, data):
            return
        log.warning("page %s does not read its events: its connection is given up", page.id)
        self.close(page.id, page.stream)

    def set_environment(self, page_id: str, environment: dict[str, Any]) -> None:
        page = self._page(page_id)
        with self._changed:
            page.environment = environment
            self._changed.notify_all()
        self.on_change(page)

    def forget(self, page: Page) -> None:
        self._pages.pop(page.id, None)

    def shutdown(self) -> None:
        """Says ``bye`` and ends every stream; no page can connect from now on."""
        self._closed = True
        for page in self._pages.values():
            if page.stream is not None:
                page.stream.put("bye", {})
                page.stream.end()

    def _page(self, page_id: str) -> Page:
        page = self._pages.get(page_id)
        if page is not None:
            return page
        if len(self._pages) >= self._settings.max_pages:
            gone = [page for page in self._pages.values() if page.stream is None]
            if not gone:
                limit = f"{len(self._pages)} pages are connected, no more are taken"
                raise Problem(503, "too-many-pages", limit, headers={"Retry-After": "5"})
            self.forget(min(gone, key=lambda page: page.since))
        page = self._pages[page_id] = Page(page_id)
        return page
