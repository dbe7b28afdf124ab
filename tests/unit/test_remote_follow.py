"""Following a page of another server always ends, whatever that server does."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from server import remote_follow
from server.remote import Remote, Unreachable
from server.remote_follow import follow


def ended(look: Callable[[], bool]) -> str:
    """Why it was given up; "" if all was told."""
    why: queue.Queue[str] = queue.Queue()
    follow(look, why.put).join(10)
    return "" if why.empty() else why.get()


def test_it_ends_once_all_is_told() -> None:
    answers = [False, False, True]
    assert ended(lambda: answers.pop(0)) == ""
    assert answers == []


def test_an_answer_that_cannot_be_read_ends_it_whatever_is_wrong_in_it() -> None:
    def look() -> bool:
        answer: Any = []
        return bool(answer["status"])

    assert "list indices" in ended(look)


def test_a_server_that_is_silent_for_too_long_is_given_up_and_a_short_silence_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote_follow, "RETRY_S", 0.01)
    silent: list[bool] = [True, False, True, True]  # the last stands for an answer

    def look() -> bool:
        if len(silent) == 1:
            return True
        if silent.pop(0):
            raise Unreachable("no answer")
        return False

    assert ended(look) == ""
    monkeypatch.setattr(remote_follow, "SILENT_S", 0.05)

    def never() -> bool:
        raise Unreachable("no answer from there")

    assert ended(never) == "no answer from there"


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def half() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

        thread = threading.Thread(target=half, daemon=True)
        thread.start()
        with pytest.raises(Unreachable, match="no answer from http://127"):
            Remote(f"http://127.0.0.1:{listener.getsockname()[1]}").get("/api/pages")
        thread.join(5)
