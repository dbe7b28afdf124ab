"""Deadlines: no task waits for ever, whatever its page does.

A software adapter has no watchdog, so a runaway kernel leaves the page waiting for ever; the page
itself may hang, crash or be closed. The page reports its own timeout first if it can: hence the
grace.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from server.pages import Page, Pages
from server.settings import Settings
from server.task import QUEUED, SENT, WAITING, Task

log = logging.getLogger("server")
T = TypeVar("T", bound=Task[Any])


class Store(Protocol[T]):
    """Runs, benchmarks or trainings."""

    def unfinished(self) -> Iterable[T]: ...

    def fail(self, task: T, kind: str, message: str, /) -> None: ...


async def reap_forever(stores: Sequence[Store[Any]], pages: Pages, settings: Settings) -> None:
    """Looks every ``reap_s`` seconds until it is cancelled."""
    while True:
        await asyncio.sleep(settings.reap_s)
        try:
            reap(stores, pages, settings)
        except Exception:  # a bug here must not end all deadlines
            log.exception("reaping failed")


def reap(stores: Sequence[Store[Any]], pages: Pages, settings: Settings) -> None:
    """Ends overdue and abandoned tasks, and forgets pages that stay away."""
    for store in stores:
        for task in store.unfinished():
            try:
                _look_at(store, pages, settings, task)
            except Exception as error:  # what is wrong with one is no reason to leave the others
                log.exception("the deadline of task %s cannot be watched", task.id)
                _give_up(store, task, error)
    for page in pages.all():
        if _gone_s(page) > settings.page_forget_s and page.task is None:
            pages.forget(page)


def _look_at(store: Store[T], pages: Pages, settings: Settings, task: T) -> None:
    if task.state == SENT:
        _reap_sent(store, pages, settings, task)
    elif task.state == QUEUED and task.page is not None:
        _reap_queued(store, pages, settings, task)
    elif task.state == WAITING and _age_s(task) > settings.upload_s:
        store.fail(task, "page", f"its inputs did not come within {settings.upload_s:g} s")


def _give_up(store: Store[T], task: T, error: Exception) -> None:
    """A task whose deadline cannot be watched would never end by itself."""
    try:
        store.fail(task, "error", f"the server could not watch its deadline: {error!r}")
    except Exception:
        log.exception("task %s could not be ended either", task.id)


def _reap_sent(store: Store[T], pages: Pages, settings: Settings, task: T) -> None:
    page = pages.get(task.sent_to)
    if _gone_s(page) > settings.page_lost_s:
        store.fail(task, "device-lost", f"the page went away before it was done{task.reached}")
    elif task.overdue_s > settings.deadline_grace_s:
        if page is not None:
            page.suspect = True
        store.fail(task, "timeout", task.late)


def _reap_queued(store: Store[T], pages: Pages, settings: Settings, task: T) -> None:
    page = pages.get(task.page)
    # A page that was never here is given the same time, from the task's birth.
    if min(_gone_s(page), _age_s(task)) > settings.page_forget_s:
        store.fail(
            task,
            "device-lost",
            f"page {task.page} was not connected for {settings.page_forget_s:g} s",
        )


def _age_s(task: Task[Any]) -> float:
    return time.time() - task.created.timestamp()


def _gone_s(page: Page | None) -> float:
    """For how long the page has had no stream; 0 while it has one, ∞ for a page nobody knows."""
    if page is None:
        return float("inf")
    return 0.0 if page.stream is not None else time.monotonic() - page.since
