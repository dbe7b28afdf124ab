"""Deadlines: no run waits for ever, whatever its page does.

A software adapter has no watchdog, so a runaway kernel leaves the page waiting for ever; the page
itself may hang, crash or be closed. The page reports its own timeout first if it can: hence the
grace.
"""

from __future__ import annotations

import asyncio
import logging
import time

from server.pages import Page, Pages
from server.run import QUEUED, SENT, Run
from server.runs import RunStore
from server.settings import Settings

log = logging.getLogger("server")


async def reap_forever(store: RunStore, pages: Pages, settings: Settings) -> None:
    """Looks every ``reap_s`` seconds until it is cancelled."""
    while True:
        await asyncio.sleep(settings.reap_s)
        try:
            reap(store, pages, settings)
        except Exception:  # a bug here must not end all deadlines
            log.exception("reaping failed")


def reap(store: RunStore, pages: Pages, settings: Settings) -> None:
    """Ends overdue and abandoned runs, and forgets pages that stay away."""
    for run in store.unfinished():
        if run.state == SENT:
            _reap_sent(store, pages, settings, run)
        elif run.state == QUEUED and run.page is not None:
            _reap_queued(store, pages, settings, run)
    for page in pages.all():
        if _gone_s(page) > settings.page_forget_s and page.run is None:
            pages.forget(page)


def _reap_sent(store: RunStore, pages: Pages, settings: Settings, run: Run) -> None:
    page = pages.get(run.sent_to)
    gone_s = _gone_s(page)
    if gone_s > settings.page_lost_s:
        store.fail(run, "device-lost", f"the page went away during this run{_progress(run)}")
    elif run.overdue_s > settings.deadline_grace_s:
        if page is not None:
            page.suspect = True
        store.fail(
            run,
            "timeout",
            f"the page sent no result within {run.deadline_s:g} s{_progress(run)}; "
            "a larger --timeout allows more, if the kernel does end",
        )


def _reap_queued(store: RunStore, pages: Pages, settings: Settings, run: Run) -> None:
    page = pages.get(run.page)
    waited_s = time.time() - run.created.timestamp()
    # A page that was never here is given the same time, from the run's birth.
    if min(_gone_s(page), waited_s) > settings.page_forget_s:
        store.fail(
            run,
            "device-lost",
            f"page {run.page} was not connected for {settings.page_forget_s:g} s",
        )


def _gone_s(page: Page | None) -> float:
    """For how long the page has had no stream; 0 while it has one, ∞ for a page nobody knows."""
    if page is None:
        return float("inf")
    return 0.0 if page.stream is not None else time.monotonic() - page.since


def _progress(run: Run) -> str:
    if not run.progress:
        return ""
    done, total = run.progress["done"], run.progress["total"]
    return f" (it was at: {run.progress['phase']}, {done:g} of {total:g})"
