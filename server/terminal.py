"""Text for a terminal: what others wrote is shown and never obeyed.

A page tells its name, a repro its engine, a compiler quotes a line of a kernel from anywhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# ESC begins what moves the cursor, renames the window or writes the clipboard; C1 has one-character
# forms of the same. Each is shown as one character, so that columns stay.
_SHOWN = {n: 0x2400 + n for n in range(32) if chr(n) not in "\n\t"}
_SHOWN |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def visible(text: str) -> str:
    """The text with control characters as pictures of themselves; lines and tabs stay.

    >>> visible("a\\x1b[31mb\\n")
    'a␛[31mb\\n'
    """
    return text.translate(_SHOWN)


def never_fail() -> None:
    """What stdout's encoding lacks becomes "?": a κ on a Windows pipe ends no command."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def end_output() -> None:
    """Writes out what stdout still holds. Whoever reads it may have left, as `head` does."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left goes nowhere; the interpreter would try again at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class VisibleConsole(Console):
    """A console of rich whose texts cannot hold control characters."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
