"""Follows what a page of another server does: to its end, or to the end of that server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from server.remote import Unreachable

RETRY_S = 1.0  # after a question that nobody answered
SILENT_S = 30.0  # without an answer, which is two questions: the server is given up


def follow(
    look: Callable[[], bool], give_up: Callable[[str], None], pause_s: float = 0.0
) -> threading.Thread:
    """Starts a thread that calls ``look``, with pauses, until it returns True: all is told.

    Else ``give_up`` gets the reason. One of the two always comes: somebody waits for it.
    """
    thread = threading.Thread(
        target=_follow, args=(look, give_up, pause_s), name="fa2-follow", daemon=True
    )
    thread.start()
    return thread


def _follow(look: Callable[[], bool], give_up: Callable[[str], None], pause_s: float) -> None:
    heard = time.monotonic()
    while True:
        try:
            if look():
                return
        except Unreachable as error:
            if time.monotonic() - heard > SILENT_S:
                return give_up(error.message)
            time.sleep(RETRY_S)
        except Exception as error:  # an answer that cannot be read, whatever is wrong in it
            return give_up(str(error) or type(error).__name__)
        else:
            heard = time.monotonic()
            time.sleep(pause_s)
