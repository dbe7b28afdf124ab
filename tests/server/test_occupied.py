"""A port that is taken: by a server of ours, which is told with its address, or by another one."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pydantic import SecretStr

from server.app import create_app
from server.errors import CaseError
from server.serving import listen, make_server
from server.settings import Settings


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.occupied.ANSWER_S", 30.0)


@contextmanager
def serving(token: str | None = None) -> Iterator[int]:
    """A server of ours; its port."""
    listener = listen("127.0.0.1", 0)
    port: int = listener.getsockname()[1]
    settings = Settings(port=port, history="off", token=token and SecretStr(token))
    server = make_server(create_app(settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@pytest.mark.parametrize("token", [None, "a" * 40])
def test_a_server_of_ours_is_told_with_its_address_and_without_its_token(token: str | None) -> None:
    with serving(token) as port, pytest.raises(CaseError) as refused:
        listen("127.0.0.1", port)
    url = f"http://127.0.0.1:{port}/webgpu-test"
    assert refused.value.message == (
        f"port {port} is taken, webgpu-fa2 already runs there: {url}; --port 0 finds a free one"
    )


def test_another_program_is_not_taken_for_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        answers = threading.Thread(target=_hangs_up, args=(other,), daemon=True)
        answers.start()
        with pytest.raises(CaseError, match=f"port {port} is taken, another program has it"):
            listen("127.0.0.1", port)
        answers.join(5)


def _hangs_up(listener: socket.socket) -> None:
    for _ in ("http", "https"):
        with listener.accept()[0] as asked:
            asked.sendall(b"220 mail\r\n")
