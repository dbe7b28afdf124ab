"""The run store: which run is where, who gets the next one, and what is kept of the finished ones.

Everything changes on the loop's thread. ``submit`` and ``cancel`` may be called from any thread:
they hop.

::

    queued ──a page is idle──▶ sent ──POST done──▶ judging ──▶ pass fail vacuous error skip
       └── cancelled, page forgotten ┴── cancelled, deadline, page lost ──▶ error
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from server import own_kernel, posted_inputs, report, trace_buffer
from server.cases import Case
from server.errors import CaseError
from server.judging import Judging
from server.loop import Loop
from server.newest import Newest
from server.observers import Observers
from server.outputs import predicted_work, want
from server.pages import Pages
from server.report import Done, Report
from server.run import Arrays, Run, own_inputs
from server.run_options import RunOptions
from server.settings import Settings
from server.task import JUDGING, QUEUED, SENT, WAITING

log = logging.getLogger("server")


class RunStore:
    """Runs in memory, by id, oldest first."""

    def __init__(self, settings: Settings, pages: Pages) -> None:
        self._settings = settings
        self._pages = pages
        self._tasks = pages.tasks
        self._runs: dict[str, Run] = {}
        self._finished: deque[Run] = deque()  # oldest first
        self._with_outputs = Newest(
            settings.max_kept_bytes, lambda run: run.kept_bytes, Run.drop_arrays
        )
        self._with_texts = Newest(
            settings.max_text_bytes, lambda run: run.text_bytes, Run.drop_texts
        )
        self.observers = Observers[Run, Report]()
        """Called with every finished run."""
        self._loop = Loop()
        self._judging = Judging()

    # From any thread

    def submit(self, case: Case | str, **options: Unpack[RunOptions]) -> Run:
        """Queues a run; its ``future`` holds the Report in the end, whatever happens.

        Raises CaseError (also for a case whose results would be too large), ShapeError
        (``inputs``), PageError (the server is not running).
        """
        (run,) = self.submit_all([case], **options)
        return run

    def submit_all(self, cases: Iterable[Case | str], **options: Unpack[RunOptions]) -> list[Run]:
        """A run for each case or, when one of them is refused, for none; as ``submit``."""
        runs = [self._run(case, **options) for case in cases]
        for run in runs[:1]:  # they share their options, and the texts take long to write as JSON
            run.demand_sendable()
        for run in runs:
            self._loop.run(partial(self._accept, run))
        return runs

    def _run(
        self,
        case: Case | str,
        *,
        kernel: str | None = None,
        page: str | None = None,
        kappa: float = 4.0,
        timeout_s: float | None = None,
        inputs: Arrays | None = None,
        shaders: dict[str, str] | None = None,
        own: dict[str, Any] | None = None,
        trace: dict[str, int] | None = None,
        tuned: dict[str, Any] | None = None,
        timing: bool = False,
        sampled_above: int | None = None,
        asker: str | None = None,
        posted: bool = False,
    ) -> Run:
        """A run that nobody knows yet."""
        case = Case.parse(case) if isinstance(case, str) else case
        if kernel is not None:
            case = case.replace(kernel=kernel)
        wanted = {spec.name: spec for spec in want(case, own_kernel.judged(own, case))}
        if trace is not None:
            trace_buffer.check(case, trace)
        if trace is not None or trace_buffer.may_tell(shaders or {}, own):
            told = trace_buffer.spec_of(case, tiles=trace is not None)
            wanted[told.name] = told
        size_bytes = sum(spec.bytes for spec in wanted.values())
        if size_bytes > self._settings.max_run_bytes:
            raise CaseError(
                f"{case} would return {size_bytes} bytes, this server takes at most "
                f"{self._settings.max_run_bytes}; use smaller sizes, or raise FA2_MAX_RUN_BYTES"
            )
        base_s = self._settings.base_deadline_s if timeout_s is None else timeout_s
        run = Run(
            case=case,
            page=page,
            kappa=kappa,
            # Every case is run twice, over two fillings of its buffers.
            deadline_s=base_s + 2 * predicted_work(case) / self._settings.flops_per_s,
            want=wanted,
            inputs=None if inputs is None else own_inputs(case, inputs),
            shaders=dict(shaders or {}),
            own=own,
            trace=trace,
            tuned=tuned,
            timing=timing,
            sampled_above=sampled_above,
            asker=asker,
        )
        if posted:
            run.seeded, run.inputs, run.state = False, {}, WAITING
            run.awaiting = set(posted_inputs.specs(case))
        return run

    def cancel(self, run_id: str) -> None:
        """Ends a queued or sent run as an error; later, or for an unknown id, does nothing."""

        def cancel() -> None:
            run = self._runs.get(run_id)
            if run is not None and run.state in (WAITING, QUEUED, SENT):
                self.fail(run, "page", "cancelled before it was done")

        self._loop.run(cancel)

    # On the loop

    def start(self) -> None:
        """Runs can be submitted from now on."""
        self._loop.start()

    def stop(self) -> None:
        """Ends every unfinished run as an error, so that nobody waits for a future for ever."""
        self._judging.stop()
        for run in self.unfinished():
            self.fail(run, "page", "the server was stopped")
        self._loop.stop()

    def get(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def all(self) -> list[Run]:
        return list(self._runs.values())

    def unfinished(self) -> list[Run]:
        return [run for run in self._runs.values() if not run.finished]

    def done(self, run: Run, done: Done) -> None:
        """The page has finished a run that was sent to it; the judge takes over."""
        run.state, run.done = JUDGING, done
        page = self._tasks.release(run)
        if page is not None:
            page.judging += 1
        self._judging.start(run, done, self._judged)
        self._tasks.dispatch()

    def give_input(self, run: Run, name: str, array: np.ndarray) -> None:
        """One of the arrays that a waiting run needs; with the last one it is queued."""
        run.awaiting.discard(name)
        inputs = {**(run.inputs or {}), name: array}
        run.inputs = {
            name: inputs[name] for name in posted_inputs.specs(run.case) if name in inputs
        }
        if not run.awaiting:
            run.state = QUEUED
            self._tasks.add(run)

    def progressed(self, run: Run, progress: dict[str, Any]) -> None:
        """The page that does ``run`` is further than it was."""
        run.progress = progress
        if run.asker != run.sent_to:
            self._pages.send(run.asker, "progress", {"run": run.id, "progress": progress})

    def heard(self, run: Run) -> None:
        """The page that does ``run`` has given a sign of life."""
        self._tasks.heard(run)

    def fail(self, run: Run, kind: str, message: str) -> None:
        """Ends a queued or sent run as an error."""
        if run.state == SENT:
            self._pages.send(run.sent_to, "cancel", {"run": run.id})
        told = None if run.own is None else Done(status="error", source=run.source)
        result = report.failed_to_run(
            run.case, kind, message, told, run.kappa, replayable=run.seeded
        )
        self._finish(run, result)

    def _accept(self, run: Run) -> None:
        self._runs[run.id] = run
        if run.state == QUEUED:
            self._tasks.add(run)

    def _judged(self, run: Run, result: Report) -> None:
        page = self._pages.get(run.sent_to)
        if page is not None:
            page.judging = max(0, page.judging - 1)
            if page.task is not None:
                # The page may have waited for this verdict before it began the next run.
                page.task.sent_at = time.monotonic()
        self._finish(run, result)

    def _finish(self, run: Run, result: Report) -> None:
        if run.finished:
            return
        self._tasks.release(run)
        values = trace_buffer.count(run.uploads.get(trace_buffer.TENSOR))
        result = replace(result, edited=tuple(run.shaders), told=values)
        run.settle(result)
        try:
            told = {"run": run.id, "report": result.to_dict()}
            for page in {run.sent_to, run.asker}:
                self._pages.send(page, "verdict", told)
        except Exception:  # a report that is no JSON is nothing that the runs behind it wait for
            log.exception("the page was not told the verdict on %s", run.case)
        self.observers.tell(run, result)
        self._keep(run)
        self._tasks.dispatch()

    def _keep(self, run: Run) -> None:
        """Keeps the newest finished runs, and the outputs and the texts of fewer of them."""
        self._finished.append(run)
        if len(self._finished) > self._settings.max_runs:
            del self._runs[self._finished.popleft().id]
        for kept in (self._with_outputs, self._with_texts):
            kept.add(run, lambda one: one.id in self._runs)


def summary(run: Run) -> dict[str, Any]:
    """What ``GET /api/runs`` says about a run, and ``GET /api/runs/{id}`` until it is finished."""
    return {
        "run": run.id,
        "case": str(run.case),
        "kernel": run.case.kernel,
        "state": run.state,
        "page": run.sent_to or run.page,
        "created": run.created.isoformat(timespec="milliseconds"),
        "progress": run.progress,
        "message": run.report.message if run.report else None,
    }
