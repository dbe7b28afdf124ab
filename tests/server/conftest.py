"""A real server on a real port for each set of settings, and pages without a browser."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fake_page import FakePage, client

from server import presets
from server.app import create_app
from server.gpt import Twin
from server.pages import Pages
from server.presets import GptConfig
from server.run import Run
from server.runs import RunStore
from server.serving import make_server
from server.settings import Settings

CASE = "forward:T=8,H=2,D=4"
MICRO = GptConfig(layers=2, C=8, T=8, B=2, H=2, D=4, rate=0.01)
SLOW_STEP_S = 0.05  # of NumPy


class Live:
    """A running server. ``client`` speaks to it the way curl does: no Origin, no Sec-Fetch-Site."""

    def __init__(self, **overrides: Any) -> None:
        quick = {"history": None, "port": 0, "reap_s": 0.02, "watch_shaders": False}
        self.settings = Settings(**{**quick, **overrides})
        self.app = create_app(self.settings)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.url = f"{self.settings.scheme}://127.0.0.1:{self.port}"
        self.server = make_server(self.app)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.client = client(self.url)
        self.pages_made: list[FakePage] = []

    @property
    def store(self) -> RunStore:
        store: RunStore = self.app.state.store
        return store

    @property
    def pages(self) -> Pages:
        pages: Pages = self.app.state.pages
        return pages

    def page(self, page_id: str | None = None, **options: Any) -> FakePage:
        """A connected page; closed with the server at the latest."""
        page = FakePage(self.url, page_id, **options)
        self.pages_made.append(page)
        assert self.pages.wait_for(page.id, 5)
        return page

    def raw(self, data: bytes) -> bytes:
        """What the server says to bytes that no client library would send; b"" if it hangs up
        without a word. Raises TimeoutError where it does neither.
        """
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(data)
            with contextlib.suppress(ConnectionResetError):
                while not _complete(answer) and (chunk := connection.recv(65536)):
                    answer += chunk
        return answer

    def submit(self, case: str = CASE, **body: Any) -> str:
        """The id of a new run, asked for over HTTP."""
        response = self.client.post("/api/runs", json={"case": case, **body})
        assert response.status_code == 201, response.text
        (run,) = response.json()["runs"]
        return str(run)

    def run(self, run: str) -> Run:
        found = self.store.get(run)
        assert found is not None, f"run {run} is forgotten"
        return found

    def __enter__(self) -> Live:
        self.thread.start()
        for _ in range(500):
            with contextlib.suppress(httpx.TransportError):
                self.client.get("/favicon.ico")
                return self
        raise AssertionError("the server did not start")

    def __exit__(self, *_: object) -> None:
        for page in self.pages_made:
            page.close()
        self.client.close()
        self.server.should_exit = True
        self.thread.join(5)
        self.socket.close()
        assert not self.thread.is_alive(), "the server did not stop"


def _complete(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"\ncontent-length: (\d+)", head.lower())
    return bool(end) and length is not None and len(body) >= int(length[1])


def finished(live: Live, run: str, timeout_s: float = 5) -> dict[str, object]:
    """The report on a run, waited for."""
    return live.run(run).future.result(timeout_s).to_dict()


Serve = Callable[..., Live]


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    """The server with default settings that most tests share."""
    with Live() as server:
        yield server


@pytest.fixture(autouse=True)
def _pages_do_not_outlive_a_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Or the shared server would give the next test's run to them."""
    yield
    if "live" in request.fixturenames:
        server: Live = request.getfixturevalue("live")
        while server.pages_made:
            page = server.pages_made.pop()
            page.close()
            page.gone(server.pages)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """``serve(max_runs=2)`` starts one more server with other settings."""
    with contextlib.ExitStack() as stack:
        yield lambda **overrides: stack.enter_context(Live(**overrides))


@pytest.fixture
def micro(monkeypatch: pytest.MonkeyPatch) -> GptConfig:
    """A preset of that name; fifty steps of it take NumPy a tenth of a second."""
    monkeypatch.setitem(presets.PRESETS, "micro", MICRO)  # type: ignore[arg-type]
    return MICRO


@pytest.fixture(scope="session")
def truth() -> list[float]:
    """Fifty losses of ``micro``, as NumPy has them."""
    twin = Twin(MICRO, seed=3)
    return [twin.step() for _ in range(50)]


@pytest.fixture
def slow_twin(monkeypatch: pytest.MonkeyPatch) -> list[Twin]:
    """A twin that is still under way when its page is done; who took a step is listed."""
    step = Twin.step
    stepped: list[Twin] = []

    def slow(self: Twin) -> float:
        time.sleep(SLOW_STEP_S)
        stepped.append(self)
        return step(self)

    monkeypatch.setattr(Twin, "step", slow)
    return stepped
