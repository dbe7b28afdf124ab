"""The store of trainings: which is where, what its steps gave, and its verdict.

Everything changes on the loop's thread. ``submit`` and ``cancel`` may be called from any thread:
they hop.

::

    queued ──a page is idle──▶ sent ──POST done──▶ judging ──the twin is done──▶ pass fail skip
       └── cancelled, page forgotten ┴── cancelled, deadline, page lost, twin failed ──▶ error
"""

from __future__ import annotations

from server.errors import CaseError
from server.loop import Loop
from server.observers import Observers
from server.pages import Pages
from server.report import RunError, jsonable
from server.settings import Settings
from server.task import JUDGING, SENT
from server.training import Training
from server.training_report import TrainingDone, TrainingReport, failed, judged
from server.training_spec import TrainingSpec, twin_bytes
from server.twins import Twins


class TrainingStore:
    """Trainings in memory, by id, oldest first."""

    def __init__(self, settings: Settings, pages: Pages) -> None:
        self._settings = settings
        self._pages = pages
        self._tasks = pages.tasks
        self._trainings: dict[str, Training] = {}
        self.observers = Observers[Training, TrainingReport]()
        """Called with every training that ends, before its texts are let go."""
        self._loop = Loop()
        self._twins = Twins(self._loop, self._twin_stepped, self.fail)

    # From any thread

    def submit(
        self,
        spec: TrainingSpec,
        *,
        page: str | None = None,
        timeout_s: float | None = None,
        limit_s: float | None = None,
        shaders: dict[str, str] | None = None,
    ) -> Training:
        """Queues a training; its ``future`` holds the report in the end, whatever happens.

        ``timeout_s`` replaces the base of each step's deadline, ``limit_s`` what the whole may
        take, ``shaders`` files of ``static/shaders/``. Raises CaseError for a twin that this
        server has no memory for, PageError when the server is not running.
        """
        settings = self._settings
        if spec.has_twin and (size := twin_bytes(spec.config)) > settings.max_twin_bytes:
            raise CaseError(
                f"preset={spec.preset} takes NumPy about {size} bytes, this server gives it "
                f"{settings.max_twin_bytes}; use a smaller preset, or raise FA2_MAX_TWIN_BYTES"
            )
        base_s = settings.base_deadline_s if timeout_s is None else timeout_s
        if limit_s is None:
            bench = spec.gate == "bench"
            limit_s = settings.bench_limit_s if bench else settings.training_limit_s
        work_s = spec.most_work / settings.flops_per_s
        training = Training(
            spec=spec,
            page=page,
            deadline_s=base_s + work_s,
            limit_s=limit_s,
            # A benchmark warms up in any case; else it is for adapters that might take too long.
            measures=spec.gate == "bench" or spec.steps * work_s > limit_s,
            shaders=dict(shaders or {}),
        )
        training.demand_sendable()
        training.on_given = lambda: self._given(training)
        self._loop.run(lambda: self._accept(training))
        return training

    def cancel(self, training_id: str) -> None:
        """Ends an unfinished training as an error; for an unknown id it does nothing."""

        def cancel() -> None:
            training = self._trainings.get(training_id)
            if training is not None:
                self.fail(training, "page", "stopped before it was done")

        self._loop.run(cancel)

    # On the loop

    def start(self) -> None:
        """Trainings can be submitted from now on."""
        self._loop.start()

    def stop(self) -> None:
        """Ends every unfinished training as an error; the threads of twins notice."""
        for training in self.unfinished():
            self.fail(training, "page", "the server was stopped")
        self._loop.stop()

    def get(self, training_id: str) -> Training | None:
        return self._trainings.get(training_id)

    def all(self) -> list[Training]:
        return list(self._trainings.values())

    def unfinished(self) -> list[Training]:
        return [one for one in self._trainings.values() if not one.finished]

    def heard(self, training: Training) -> None:
        """The page that does it has given a sign of life."""
        self._tasks.heard(training)

    def done(self, training: Training, done: TrainingDone) -> None:
        """The page has finished, well or not; a twin that is needed may still be on its way."""
        training.state, training.done = JUDGING, done
        self._tasks.release(training)
        self._judge_if_complete(training)
        self._tasks.dispatch()

    def fail(self, training: Training, kind: str, message: str) -> None:
        """Ends an unfinished training as an error, or as refused if it is unsupported."""
        if training.state == SENT:
            self._pages.send(training.sent_to, "train-cancel", {"training": training.id})
        error = RunError(kind, message)
        self._finish(training, failed(training.spec, training.curves, error, training.done))

    def _accept(self, training: Training) -> None:
        self._trainings[training.id] = training
        self._tasks.add(training)

    def _given(self, training: Training) -> None:
        if training.spec.has_twin:
            self._twins.start(training)

    def _twin_stepped(self, training: Training, loss: float) -> None:
        if training.finished:
            return
        training.twin.append(loss)
        told = {"training": training.id, "step": len(training.twin), "loss": jsonable(loss)}
        self._pages.send(training.sent_to, "twin", told)
        self._judge_if_complete(training)

    def _judge_if_complete(self, training: Training) -> None:
        spec, done = training.spec, training.done
        if done is None:
            return
        # A page that failed, or gave up half-way, is judged without waiting for NumPy.
        waits = spec.has_twin and done.error is None and len(training.losses) == spec.steps
        if not waits or len(training.twin) == spec.steps:
            self._finish(training, judged(spec, training.curves, done))

    def _finish(self, training: Training, report: TrainingReport) -> None:
        if training.finished:
            return
        self._tasks.release(training)
        self.observers.tell(training, report)
        training.settle(report)
        told = {"training": training.id, "report": training.to_dict()}
        self._pages.send(training.sent_to, "train-verdict", told)
        self._evict(keep=training)
        self._tasks.dispatch()

    def _evict(self, keep: Training) -> None:
        """Drops the oldest finished trainings beyond the cap."""
        finished = [one for one in self._trainings.values() if one.finished and one is not keep]
        for one in finished[: max(0, len(self._trainings) - self._settings.max_trainings)]:
            del self._trainings[one.id]
