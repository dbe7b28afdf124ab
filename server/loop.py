"""The event loop that a store lives on, for callers on other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from server.errors import PageError


class Loop:
    """Between ``start`` and ``stop``, ``run`` takes actions to the loop's thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """The loop is the one that is running here."""
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        self._loop = None

    def run(self, action: Callable[[], None]) -> None:
        """At once on the loop's own thread, soon from any other. PageError when it has stopped."""
        loop = self._loop
        if loop is None or loop.is_closed():
            raise PageError("the server is not running; start it before submitting runs")
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        if here:
            action()
        else:
            loop.call_soon_threadsafe(action)
