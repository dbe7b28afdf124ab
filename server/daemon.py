"""Work off the loop that nobody waits for at exit.

A pool's threads are joined when the interpreter exits, so Ctrl+C would wait for the longest float64
reference; a daemon's thread is not.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T], *, name: str) -> T:
    """What ``work`` returns or raises, done in a thread of its own."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not result.done():  # else nobody waits any more
            outcome()

    def run() -> None:
        try:
            outcome = partial(result.set_result, work())
        except Exception as error:
            outcome = partial(result.set_exception, error)
        with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await result
