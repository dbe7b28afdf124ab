"""What a server that runs for weeks lets go of."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from conftest import CASE, Live, Serve

from server import uploads


class Body(bytearray):
    """One that can be watched."""


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        gc.collect()
        time.sleep(0.01)


def test_what_was_uploaded_goes_when_a_newer_run_takes_its_place(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = serve(max_kept_bytes=1)
    bodies: list[weakref.ref[Body]] = []
    receive = uploads.receive

    async def watched(*args: Any) -> Body:
        body = Body(await receive(*args))
        bodies.append(weakref.ref(body))
        return body

    monkeypatch.setattr(uploads, "receive", watched)
    page = live.page()
    for _ in range(2):
        live.submit(CASE)
        assert page.work(page.next_event("job"))["status"] == "pass"
    assert len(bodies) == 2 * 6, "o and lse, each with its repeat and its guards"
    until(lambda: all(body() is None for body in bodies[:6]))
    until(lambda: sum(body() is not None for body in bodies) == 2)  # o and lse of the last run


def test_a_benchmark_goes_though_the_run_that_checked_it_stays(serve: Serve) -> None:
    live = serve(max_benches=1)
    store = live.app.state.benches
    page, benches = live.page(), []
    for _ in range(2):
        answer = live.client.post("/api/benches", json={"case": CASE}).json()
        benches.append(weakref.ref(store.get(answer["bench"])))
        wrong = bytes(4 * 8 * 2 * 4)
        page.work(page.next_event("job"), o=wrong, **{"o.repeat": wrong})
        page.next_event("bench-report")
        assert live.store.get(answer["run"]) is not None
    until(lambda: benches[0]() is None)
    assert benches[1]() is not None


def test_a_run_forgets_who_waited_for_it_in_vain(live: Live) -> None:
    id_ = live.submit(CASE)
    run = live.run(id_)
    for _ in range(20):
        assert live.client.get(f"/api/runs/{id_}?wait=0.001").json()["state"] == "queued"
    assert len(run.future._done_callbacks) <= 1  # nothing public counts them
    live.client.post(f"/api/runs/{id_}/cancel")
