"""The newest finished runs whose arrays, or texts, fit into so many bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from server.run import Run


class Newest:
    """Runs in the order they finished, oldest first; the last one is kept, however large.

    It never goes through all runs: a server that stops may have thousands to end.
    """

    def __init__(
        self, most_bytes: int, size: Callable[[Run], int], let_go: Callable[[Run], None]
    ) -> None:
        """``size``: the bytes of a run that count, the same until ``let_go`` drops them."""
        self._most_bytes, self._size, self._let_go = most_bytes, size, let_go
        self._runs: deque[Run] = deque()
        self._bytes = 0

    def add(self, run: Run, known: Callable[[Run], bool]) -> None:
        """A run has finished. Those go first that nobody can ask for any more (not ``known``)."""
        self._runs.append(run)
        self._bytes += self._size(run)
        while len(self._runs) > 1 and (self._bytes > self._most_bytes or not known(self._runs[0])):
            oldest = self._runs.popleft()
            self._bytes -= self._size(oldest)
            self._let_go(oldest)
