"""A progress bar below the lines of a command, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class ProgressBar:
    """Counts cases; outside of ``shown``, and where output is piped, it does nothing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None

    @contextmanager
    def shown(self, total: int) -> Iterator[None]:
        console = self._console
        if not (sys.stdout.isatty() and console.is_terminal) or console.is_dumb_terminal:
            yield
            return
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        try:
            with Progress(*columns, console=console, transient=True) as self._bar:
                self._bar.add_task("", total=total)
                yield
        finally:
            self._bar = None

    def running(self, case: str) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=case)

    def advance(self) -> None:
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])
