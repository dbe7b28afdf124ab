"""The judge at work, off the loop: a thread of its own for each run, two at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from server import own_kernel, report
from server.daemon import in_daemon_thread
from server.judge import judge
from server.report import Done, Report, RunError
from server.run import Run

log = logging.getLogger("server")
AT_ONCE = 2


def verdict(run: Run, done: Done) -> Report:
    """The report on a run whose page says that it is done.

    May raise where even the report of an error fails, on what the page told; see ``unreportable``.
    """
    done = replace(done, source=run.source)
    try:
        return judge(
            run.case,
            tensors=run.uploads,
            done=done,
            poison=run.poison,
            kappa=run.kappa,
            inputs=run.inputs,
            sampled_above=run.sampled_above,
            outputs=own_kernel.judged(run.own, run.case),
        )
    except Exception as error:
        log.exception("the judge failed on %s", run.case)
        message = f"the judge failed: {error!r}"
        return report.failed_to_run(
            run.case, "error", message, done, run.kappa, replayable=run.seeded
        )


def unreportable(run: Run, error: BaseException) -> Report:
    """An error without anything that the page told: that may be what cannot be reported."""
    message = f"neither the judge nor the report of its failure came to an end: {error!r}"
    return Report(
        case=str(run.case),
        kernel=run.case.kernel,
        status="error",
        message=message,
        kappa=run.kappa,
        error=RunError("error", message),
    )


class Judging:
    """Runs ``verdict`` in threads and hands the report back on the loop."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, run: Run, done: Done, finished: Callable[[Run, Report], None]) -> None:
        """``finished(run, report)`` follows on the loop, whatever is raised, unless ``stop`` comes
        first.
        """
        task = asyncio.get_running_loop().create_task(self._judge(run, done, finished))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _judge(self, run: Run, done: Done, finished: Callable[[Run, Report], None]) -> None:
        async with self._slots:
            try:
                result = await in_daemon_thread(partial(verdict, run, done), name=f"judge-{run.id}")
            except Exception as error:
                log.exception("no report on %s", run.case)
                result = unreportable(run, error)
        finished(run, result)
