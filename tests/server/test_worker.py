"""What a Harness asks of its page, with a page that never does anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

import pytest

from server.run import Run
from server.service import Service
from server.training import Training
from server.training_spec import TrainingSpec
from server.worker import Worker


class Silent:
    """In the place of a Session: no browser behind it."""

    usable = True
    young = False
    launched = None
    page = "silent"
    environment: ClassVar[dict[str, Any]] = {}

    def close(self) -> None:
        """Ends nothing."""


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(Service(), Silent)
    worker.start()
    yield worker
    worker.close()


def training(service: Service, page: str) -> Training:
    return service.trainings.submit(TrainingSpec.of("tiny", gate="none"), page=page)


def run(service: Service, page: str) -> Run:
    return service.store.submit("forward:T=8,D=8", page=page)


@pytest.mark.parametrize("submit", [training, run])
def test_an_interrupted_wait_calls_off_what_is_under_way(worker: Worker, submit: Any) -> None:
    seen: list[Any] = []

    def interrupt(task: Any) -> NoReturn:
        seen.append(task)
        assert worker.current is task
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.do(submit, interrupt)
    (task,) = seen
    assert task.future.result(2).status == "error"


@pytest.mark.parametrize("submit", [training, run])
def test_what_is_called_off_elsewhere_ends_the_wait(worker: Worker, submit: Any) -> None:
    def cancel(task: Any) -> None:
        store = worker._service.store if submit is run else worker._service.trainings
        store.cancel(task.id)

    task = worker.do(submit, cancel)
    assert task.finished
    assert worker.current is None
