"""Those who look on: called with everything finished, and nothing that others wait for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from server.task import Reported, Task

log = logging.getLogger("server")

T = TypeVar("T", bound=Task[Any])
R = TypeVar("R", bound=Reported)


class Observers(list[Callable[[T, R], None]], Generic[T, R]):
    """Called in their order on the loop's thread, so they must not block."""

    def tell(self, done: T, report: R) -> None:
        """One that raises is logged, and the next one is called."""
        for observe in self:
            try:
                observe(done, report)
            except Exception:
                log.exception("an observer failed on %s", done.title)
