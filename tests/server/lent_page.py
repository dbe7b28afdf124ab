"""A page that somebody opened, and that does what it is given."""

from __future__ import annotations

import dataclasses
import queue
import threading
from collections.abc import Callable
from typing import Any

import httpx
from fake_bench import done
from fake_page import ADAPTER, FakePage


def introduce(page: FakePage, **facts: Any) -> None:
    """Says what a page says once it has looked for a device."""
    found = {"ok": True, "adapter": ADAPTER, "engine": "NumPy 2", **facts}
    page.http.post(f"/api/pages/{page.id}/environment", json=found).raise_for_status()


class Working:
    """Does the jobs of a page until the test is over."""

    def __init__(self, page: FakePage, do: Callable[[FakePage, dict[str, Any]], Any]) -> None:
        self.page, self.do = page, do
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while not self.over.is_set():
            try:
                name, job = self.page.events.get(timeout=0.05)
            except queue.Empty:
                continue
            try:
                self._answer(name, job)
            except (httpx.TransportError, RuntimeError):  # the latter of a client that is closed
                if not self.page.closed.is_set():
                    raise

    def _answer(self, name: str, job: dict[str, Any]) -> None:
        if name == "job":
            self.do(self.page, job)
        elif name == "bench":
            told = dataclasses.asdict(done(shader_sha256="0" * 64))
            path = f"/api/benches/{job['bench']}/done"
            self.page.http.post(path, json=told).raise_for_status()

    def end(self) -> None:
        self.over.set()
        self.thread.join(5)
