"""Who gets the next one: tasks wait in one queue, and a page does one at a time.

A task is a run or a training. Touched by the loop's thread only.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from server.pages import Page, Pages

QUEUED, SENT, JUDGING = "queued", "sent", "judging"  # then the status of the report


class Task(Protocol):
    """What a page can be given."""

    id: str
    page: str | None  # the page that is to do it; None: any
    created: datetime
    state: str
    sent_to: str | None
    sent_at: float  # monotonic
    heard: bool  # the page has said something about this task since it was sent

    @property
    def finished(self) -> bool: ...

    @property
    def overdue_s(self) -> float:
        """Seconds since something had to be here; negative before, and if it is not sent."""
        ...

    @property
    def late(self) -> str:
        """What did not come in time, as a sentence."""
        ...

    @property
    def reached(self) -> str:
        """How far the page has come, in parentheses; "" if it has said nothing."""
        ...

    def give(self, page: str) -> None:
        """``page`` gets it now."""
        ...

    def event(self) -> tuple[str, dict[str, Any]]:
        """Name and data of the server-sent event that tells the page."""
        ...


class Dispatcher:
    """Gives queued tasks, oldest first, to idle pages."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._queue: deque[Task] = deque()
        pages.on_change = self._page_changed

    def add(self, task: Task) -> None:
        self._queue.append(task)
        self.dispatch()

    def dispatch(self) -> None:
        waiting: deque[Task] = deque()
        while self._queue:
            task = self._queue.popleft()
            if task.finished:
                continue
            page = self._pages.get(task.page) if task.page else self._pages.next_idle()
            if page is not None and page.idle:
                self._send(task, page)
            else:
                waiting.append(task)
        self._queue = waiting

    def heard(self, task: Task) -> None:
        """The page that does ``task`` has given a sign of life."""
        task.heard = True
        page = self._pages.get(task.sent_to)
        if page is not None:
            page.suspect = False

    def release(self, task: Task) -> Page | None:
        """The page that was given ``task`` is free for the next one; ``dispatch`` when ready."""
        page = self._pages.get(task.sent_to)
        if page is not None and page.task is task:
            page.task = None
        return page

    def _send(self, task: Task, page: Page) -> None:
        task.give(page.id)
        page.task = task
        self._pages.send(page.id, *task.event())

    def _page_changed(self, page: Page) -> None:
        if page.stream is not None and page.task is not None and not page.task.heard:
            # It may have gone into a connection that was already dead. A page that has it
            # nevertheless knows its id.
            self._pages.send(page.id, *page.task.event())
        self.dispatch()
