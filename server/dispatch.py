"""Who gets the next one: tasks wait in one queue, and a page does one at a time.

Touched by the loop's thread only.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from server.task import Task

if TYPE_CHECKING:
    from server.pages import Page, Pages


class Dispatcher:
    """Gives queued tasks, oldest first, to idle pages.

    A queue for each page that tasks name and one for the others, so that what is done for each
    event grows with the pages and not with the thousands of tasks that may be waiting.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._queues: dict[str | None, OrderedDict[str, tuple[int, Task[Any]]]] = {}
        self._serial = itertools.count()
        pages.on_change = self._page_changed

    def add(self, task: Task[Any]) -> None:
        queue = self._queues.setdefault(task.page, OrderedDict())
        queue[task.id] = next(self._serial), task
        self.dispatch()

    def dispatch(self) -> None:
        while (found := self._next()) is not None:
            self._send(*found)

    def _next(self) -> tuple[Task[Any], Page] | None:
        """The oldest task that an idle page may do, and that page."""
        pages: dict[str | None, Page] = {page.id: page for page in self._pages.all() if page.idle}
        if (page := self._pages.next_idle()) is not None:
            pages[None] = page
        heads = [
            (*next(iter(queue.values())), pages[name])
            for name, queue in self._queues.items()
            if name in pages
        ]
        if not heads:
            return None
        _, task, page = min(heads, key=lambda head: head[0])
        return task, page

    def _leave_queue(self, task: Task[Any]) -> None:
        queue = self._queues.get(task.page, OrderedDict())
        queue.pop(task.id, None)
        if not queue:
            self._queues.pop(task.page, None)

    def heard(self, task: Task[Any]) -> None:
        """The page that does ``task`` has given a sign of life."""
        task.heard = True
        page = self._pages.get(task.sent_to)
        if page is not None:
            page.suspect = False

    def release(self, task: Task[Any]) -> Page | None:
        """``task`` waits no longer and its page, if any, is free; ``dispatch`` when ready."""
        self._leave_queue(task)
        page = self._pages.get(task.sent_to)
        if page is not None and page.task is task:
            page.task = None
        return page

    def _send(self, task: Task[Any], page: Page) -> None:
        self._leave_queue(task)
        task.give(page.id)
        page.task = task
        self._pages.send(page.id, *task.event())

    def _page_changed(self, page: Page) -> None:
        if page.stream is not None and page.task is not None and not page.task.heard:
            # It may have gone into a connection that was already dead. A page that has it
            # nevertheless knows its id.
            self._pages.send(page.id, *page.task.event())
        self.dispatch()
