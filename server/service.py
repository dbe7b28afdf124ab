"""The server in a thread of this process, on a free loopback port: what a Harness talks to."""

from __future__ import annotations

import socket
import threading

import uvicorn
from fastapi import FastAPI

from server.app import create_app
from server.errors import PageError
from server.pages import Pages
from server.runs import RunStore
from server.settings import Settings

START_S = 30.0
# Open event streams never end by themselves; uvicorn waits for them no longer than this.
SHUTDOWN_S = 2


def server_config(app: FastAPI) -> uvicorn.Config:
    """uvicorn as every entry point runs it: quiet, no banner header, no trust in proxy headers."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
        lifespan="on",
        ws="none",
    )


class _Server(uvicorn.Server):
    """Says when it answers, or has given up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            self.settled.set()


class Service:
    """``with Service() as s:`` serves at ``s.url``; ``s.store`` and ``s.pages`` are its state."""

    def __init__(self, settings: Settings | None = None) -> None:
        # Said outright, so that FA2_HOST, FA2_PORT and FA2_TOKEN, meant for `fa2 serve`, do not
        # reach the private server of a test run.
        self.settings = settings or Settings(
            host="127.0.0.1", port=0, allow_remote=False, token=None
        )
        self.app = create_app(self.settings)
        self._server = _Server(server_config(self.app))
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    @property
    def store(self) -> RunStore:
        store: RunStore = self.app.state.store
        return store

    @property
    def pages(self) -> Pages:
        pages: Pages = self.app.state.pages
        return pages

    @property
    def url(self) -> str:
        assert self._socket is not None, "the service has not been started"
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def start(self) -> None:
        """Returns once requests are answered. Raises PageError when that takes too long."""
        self._socket = socket.create_server(("127.0.0.1", self.settings.port))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="fa2-server", daemon=True
        )
        self._thread.start()
        if not self._server.settled.wait(START_S) or not self._server.started:
            self.stop()
            raise PageError(f"the server did not start within {START_S:g} s; its log says why")

    def stop(self) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(SHUTDOWN_S + 3)
        if self._socket is not None:
            self._socket.close()

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
