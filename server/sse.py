"""Server-sent events: the wire format and a stream that ends when it is told to.

FastAPI has a response class for this, but it pings every 15 s, fixed, and ends only when its
generator does. Here the queue decides: an event, or None for the end; pings fill the silence.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

RETRY_MS = 1000
MAX_BYTES = 32 << 20
"""Once so much waits for a client, there is no room for another event, however small."""


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """One event. JSON text has no raw line break, so it is one ``data:`` line.

    >>> event("cancel", {"run": "7f"})
    b'event: cancel\\ndata: {"run":"7f"}\\n\\n'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()


class Stream:
    """What is to be sent to one open connection. Touched by the loop's thread only.

    Of events that a client does not read, at most ``MAX_BYTES`` and one event wait for it: a job
    brings its texts, and a page that reads gets it behind whatever was on its way.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._bytes = 0
        self._over = False

    def put(self, name: str, data: Mapping[str, Any]) -> bool:
        """False when there is no room for it: then nothing that waits is sent any more, and the
        response ends as soon as the client reads again. It has to connect anew and ask for what it
        missed.
        """
        if self._over:
            return False
        if self._bytes >= MAX_BYTES:
            while not self._queue.empty():
                self._queue.get_nowait()
            self.end()
            self._over = True
            return False
        chunk = event(name, data)
        self._bytes += len(chunk)
        self._queue.put_nowait(chunk)
        return True

    def end(self) -> None:
        """The response ends after what was put before."""
        self._queue.put_nowait(None)

    async def chunks(self, ping_s: float) -> AsyncIterator[bytes]:
        # The first bytes make the headers leave: the browser's `open` fires before the first job.
        yield f": connected\nretry: {RETRY_MS}\n\n".encode()
        while True:
            try:
                async with asyncio.timeout(ping_s):
                    chunk = await self._queue.get()
            except TimeoutError:
                yield b": ping\n\n"
                continue
            if chunk is None:
                return
            self._bytes -= len(chunk)
            yield chunk

    async def respond(self, scope: Scope, receive: Receive, send: Send, *, ping_s: float) -> None:
        """Sends until the stream ends or the client goes away."""
        response = StreamingResponse(
            self.chunks(ping_s),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )
        await response(scope, receive, send)
