"""What a run, a benchmark and a training share: a page is given it, says how far it is, and in the
end there is a report.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar

from server.errors import CaseError
from server.sse import event

WAITING = "waiting"  # before all that, for the inputs of a run
QUEUED, SENT, JUDGING = "queued", "sent", "judging"  # then the status of the report


class Reported(Protocol):
    """A report, as far as its task looks into it."""

    @property
    def status(self) -> str: ...


R = TypeVar("R", bound=Reported)


@dataclass(eq=False, kw_only=True)
class Task(ABC, Generic[R]):
    """Changed by the loop's thread only; ``future`` may be awaited from any."""

    page: str | None = None  # the page that is to do it; None: any
    deadline_s: float  # until the page has to say something (``overdue_s``)
    shaders: dict[str, str] = field(default_factory=dict)  # edited files, by path
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    future: Future[R] = field(default_factory=Future)
    state: str = QUEUED
    sent_to: str | None = None
    sent_at: float = 0.0  # monotonic; moved on by whatever begins the deadline anew
    heard: bool = False  # the page has said something about it since it was sent
    progress: dict[str, Any] | None = None  # {"phase", "done", "total"}
    report: R | None = None
    _ended: asyncio.Future[R] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        # From now on nobody outside can cancel the future behind the store's back.
        self.future.set_running_or_notify_cancel()

    @property
    def finished(self) -> bool:
        return self.report is not None

    @property
    @abstractmethod
    def title(self) -> str:
        """What is done, in a few words."""

    @property
    def overdue_s(self) -> float:
        """Seconds since something had to be here; negative before, and if it is not sent."""
        if self.state != SENT:
            return -1.0
        return time.monotonic() - self.sent_at - self.deadline_s

    @property
    @abstractmethod
    def late(self) -> str:
        """What did not come in time, as a sentence."""

    @property
    def at(self) -> str:
        """Where the page said that it was; "" if it has said nothing."""
        if not self.progress:
            return ""
        done, total = self.progress["done"], self.progress["total"]
        return f"it was at: {self.progress['phase']}, {done:g} of {total:g}"

    @property
    def reached(self) -> str:
        """How far the page has come, in parentheses; "" if it has said nothing."""
        return f" ({self.at})" if self.at else ""

    def give(self, page: str) -> None:
        """``page`` gets it now."""
        self.state, self.sent_to, self.sent_at = SENT, page, time.monotonic()

    @abstractmethod
    def event(self) -> tuple[str, dict[str, Any]]:
        """Name and data of the server-sent event that tells the page."""

    def demand_sendable(self) -> None:
        """Raises CaseError for options that are no JSON (NaN, a NumPy number): found when a page is
        told, on the loop, nobody would hear of them.
        """
        try:
            event(*self.event())
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise CaseError(
                f"{self.title}: its options cannot be told to a page: {error}; they must be plain "
                "JSON of finite numbers"
            ) from None

    def settle(self, report: R) -> None:
        """The report is there."""
        self.report, self.state = report, report.status
        self.future.set_result(report)

    async def wait(self, timeout_s: float | None = None) -> R | None:
        """The report; None if there is none within ``timeout_s``. On the server's loop.

        Any number of requests may wait, and go away, thousands of times: a future of other threads
        never forgets who once waited for it, so it has one waiter, and that one forgets.
        """
        if self.report is None:
            if self._ended is None:
                self._ended = asyncio.wrap_future(self.future)
            await asyncio.wait([self._ended], timeout=timeout_s)
        return self.report
