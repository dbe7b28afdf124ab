"""The store of benchmarks: each is a run that has to pass, then a task for the same page.

Everything changes on the loop's thread. ``submit`` and ``cancel`` may be called from any thread:
they hop.

::

    checking ──the run passes──▶ queued ──the page is idle──▶ sent ──POST done──▶ timed error skip
        ├── it does not ──▶ fail vacuous error skip
        └── cancelled ──▶ error       └── cancelled, page forgotten, deadline, page lost ──▶ error
"""

from __future__ import annotations

import asyncio
from typing import Any

from server import bench_report
from server.bench import CHECKING, Bench
from server.bench_report import BenchReport
from server.bench_timing import BenchDone
from server.cases import Case
from server.errors import CaseError
from server.loop import Loop
from server.observers import Observers
from server.outputs import predicted_work
from server.pages import Pages
from server.report import RunError
from server.runs import RunStore
from server.settings import Settings
from server.task import SENT

LEAST_SAMPLES = 30
MOST_SAMPLES = 10_000
SAMPLED_ABOVE = 1024
"""Longer cases are judged by a sample: float64 on the server would take far longer than the GPU."""


class BenchStore:
    """Benchmarks in memory, by id, oldest first."""

    def __init__(self, settings: Settings, pages: Pages, runs: RunStore) -> None:
        self._settings = settings
        self._pages = pages
        self._tasks = pages.tasks
        self._runs = runs
        self._benches: dict[str, Bench] = {}
        self._checks: set[asyncio.Task[None]] = set()
        self.observers = Observers[Bench, BenchReport]()
        """Called with every benchmark that ends, before its texts are let go."""
        self._loop = Loop()

    # From any thread

    def submit(
        self,
        case: Case,
        *,
        page: str | None = None,
        samples: int = LEAST_SAMPLES,
        kappa: float = 4.0,
        timeout_s: float | None = None,
        shaders: dict[str, str] | None = None,
        tuned: dict[str, Any] | None = None,
        own: dict[str, Any] | None = None,
    ) -> Bench:
        """Queues the check of a case and, if it passes, its timing; the ``future`` holds the report
        in the end, whatever happens.

        ``samples``: at least 30. ``timeout_s`` replaces the base of every deadline. Raises
        CaseError (also for a case whose results would be too large to be judged), PageError when
        the server is not running.
        """
        if not LEAST_SAMPLES <= samples <= MOST_SAMPLES:
            raise CaseError(
                f"samples={samples}: {LEAST_SAMPLES} to {MOST_SAMPLES}; fewer say nothing about "
                "percentiles"
            )
        samples = int(samples)  # a NumPy number is no JSON
        base_s = self._settings.base_deadline_s if timeout_s is None else timeout_s
        run = self._runs.submit(
            case,
            page=page,
            kappa=kappa,
            timeout_s=timeout_s,
            shaders=shaders,
            tuned=tuned,
            own=own,
            timing=True,
            sampled_above=SAMPLED_ABOVE,
        )
        bench = Bench(
            run=run,
            samples=samples,
            # Of what happens between two signs of life, the longest is a call or two.
            deadline_s=base_s + 2 * predicted_work(case) / self._settings.flops_per_s,
            shaders=dict(shaders or {}),
            own=own,
        )
        self._loop.run(lambda: self._accept(bench))
        return bench

    def cancel(self, bench_id: str) -> None:
        """Ends an unfinished benchmark as an error; for an unknown id it does nothing."""

        def cancel() -> None:
            bench = self._benches.get(bench_id)
            if bench is not None and bench.state == CHECKING:
                self._runs.cancel(bench.run.id)
            if bench is not None:
                self.fail(bench, "page", "stopped before it was done")

        self._loop.run(cancel)

    # On the loop

    def start(self) -> None:
        """Benchmarks can be submitted from now on."""
        self._loop.start()

    def stop(self) -> None:
        """Ends every unfinished one as an error."""
        for bench in self.unfinished():
            self.fail(bench, "page", "the server was stopped")
        self._loop.stop()

    def get(self, bench_id: str) -> Bench | None:
        return self._benches.get(bench_id)

    def all(self) -> list[Bench]:
        return list(self._benches.values())

    def unfinished(self) -> list[Bench]:
        return [one for one in self._benches.values() if not one.finished]

    def heard(self, bench: Bench) -> None:
        """The page that does it has given a sign of life."""
        self._tasks.heard(bench)

    def done(self, bench: Bench, done: BenchDone) -> None:
        """The page has finished, well or not."""
        assert bench.check is not None, "a benchmark is sent after its check"
        case = bench.run.case
        self._finish(bench, bench_report.timed(case, bench.check, done, bench.samples))

    def fail(self, bench: Bench, kind: str, message: str) -> None:
        """Ends an unfinished benchmark as an error."""
        if bench.state == SENT:
            self._pages.send(bench.sent_to, "bench-cancel", {"bench": bench.id})
        error = RunError(kind, message)
        self._finish(bench, bench_report.failed(bench.run.case, bench.check, error))

    def _accept(self, bench: Bench) -> None:
        self._benches[bench.id] = bench
        check = asyncio.get_running_loop().create_task(self._check(bench))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    async def _check(self, bench: Bench) -> None:
        # What the store of runs has yet to do for this run comes first: its verdict goes out.
        report = await bench.run.wait()
        if report is None or bench.finished:
            return
        if report.ok:
            bench.checked(report)
            self._tasks.add(bench)
        else:
            self._finish(bench, bench_report.not_timed(bench.run.case, report))

    def _finish(self, bench: Bench, report: BenchReport) -> None:
        if bench.finished:
            return
        self._tasks.release(bench)
        page = bench.sent_to or bench.run.sent_to
        self.observers.tell(bench, report)
        bench.settle(report)
        told = {"bench": bench.id, "report": bench.to_dict()}
        self._pages.send(page, "bench-report", told)
        self._evict(keep=bench)
        self._tasks.dispatch()

    def _evict(self, keep: Bench) -> None:
        """Drops the oldest finished ones beyond the cap."""
        finished = [one for one in self._benches.values() if one.finished and one is not keep]
        for one in finished[: max(0, len(self._benches) - self._settings.max_benches)]:
            del self._benches[one.id]
