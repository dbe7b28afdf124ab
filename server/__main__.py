"""`fa2`, which is also `python -m server`."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """The console script. Ctrl+C ends it without a word while its modules are imported, too."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # else somebody wants it to be ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from server.cli import main as run

    signal.signal(signal.SIGINT, usual)
    run()


if __name__ == "__main__":
    main()
