"""Truths that somebody who looks at a run may soon ask for again, within a budget of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")


class Truths:
    """A store that forgets what was used longest ago. Any thread may use it.

    Two threads that miss the same thing at the same time both compute it: rare, and harmless.
    """

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, compute: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept under ``key``, else what ``compute`` returns, kept if it fits at all."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: T = self._kept[key][0]  # type: ignore[assignment]
                return kept
        found = compute()
        self._keep(key, found, size(found))
        return found

    @property
    def kept_bytes(self) -> int:
        return self._bytes

    def _keep(self, key: Hashable, value: object, size_bytes: int) -> None:
        if size_bytes > self._budget:
            return
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = value, size_bytes
            self._bytes += size_bytes - before
            while self._bytes > self._budget:
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed
