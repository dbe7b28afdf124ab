"""Event streams: what waits for a client that does not read is bounded."""

from __future__ import annotations

import asyncio

import pytest

from server import sse
from server.pages import Pages
from server.settings import Settings
from server.sse import Stream

PING_S = 0.01


@pytest.fixture(autouse=True)
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_BYTES", 1000)


def read(stream: Stream, most: int = 100) -> list[bytes]:
    """What a client gets until the stream ends, or falls silent."""

    async def all_of_it() -> list[bytes]:
        found = []
        async for chunk in stream.chunks(PING_S):
            found.append(chunk)
            if chunk == b": ping\n\n" or len(found) == most:
                break
        return found

    return asyncio.run(all_of_it())


def test_a_client_that_reads_gets_every_event() -> None:
    stream = Stream()
    for _ in range(5):  # five times what there is room for
        assert all(stream.put("progress", {"n": n}) for n in range(20))
        assert len(read(stream, most=21)) == 21
    assert read(stream)[-1] == b": ping\n\n", "it goes on"


def test_a_stream_that_nobody_reads_ends_and_keeps_nothing() -> None:
    stream = Stream()
    taken = [stream.put("progress", {"n": n}) for n in range(1000)]
    kept = taken.index(False)
    assert 1 < kept < 40
    assert not any(taken[kept:])
    (first,) = read(stream)
    assert first.startswith(b": connected"), "then it ends, so that the client connects again"


def test_one_event_is_never_too_large() -> None:
    stream = Stream()
    assert stream.put("job", {"text": 5000 * "x"})
    assert len(read(stream)[1]) > 5000


def test_a_large_event_comes_behind_one_that_waits() -> None:
    stream = Stream()
    assert stream.put("ping", {})
    assert stream.put("job", {"text": 5000 * "x"})
    assert not stream.put("job", {"text": 5000 * "x"}), "nobody reads"
    assert len(read(stream)) == 1
    stream = Stream()
    for _ in range(3):
        assert stream.put("ping", {})
        assert stream.put("job", {"text": 5000 * "x"})
        assert len(read(stream, most=3)[2]) > 5000


def test_a_page_that_does_not_read_is_gone_until_it_connects_again() -> None:
    pages = Pages(Settings())
    pages.open("a-page", "")
    pages.open("another", "")
    for n in range(100):
        pages.send("a-page", "progress", {"n": n})
    assert not pages.connected("a-page")
    assert pages.connected("another")
    stream = pages.open("a-page", "")
    assert pages.connected("a-page")
    pages.send("a-page", "progress", {"n": 1})
    assert len(read(stream)) == 3
