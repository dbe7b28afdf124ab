"""The server in a thread of this process, on a free loopback port: what a Harness talks to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from server.app import create_app
from server.bench import Bench
from server.benches import BenchStore
from server.endpoint import Listening
from server.errors import PageError
from server.history_place import history_file
from server.pages import Pages
from server.run import Run
from server.runs import RunStore
from server.serving import GRACE_S, listen, make_server
from server.settings import Settings, is_loopback
from server.training import Training
from server.trainings import TrainingStore

START_S = 30.0
Task = TypeVar("Task", Run, Training, Bench, covariant=True)


class Submits(Protocol[Task]):
    """A store of runs, trainings or benchmarks; the real ones say what they take."""

    def submit(self, *args: Any, **options: Any) -> Task: ...


class Serving(Protocol):
    """What a worker needs of a server: one in this process, or one that somebody else started."""

    @property
    def store(self) -> Submits[Run]: ...

    @property
    def trainings(self) -> Submits[Training]: ...

    @property
    def benches(self) -> Submits[Bench]: ...

    @property
    def running(self) -> bool: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def cancel(self, task: Run | Training | Bench) -> None: ...


class Service:
    """``with Service() as s:`` serves at ``s.url``; ``s.store``, ``s.trainings``, ``s.benches`` and
    ``s.pages`` are its state."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        origin: str | None = None,
        launched: Mapping[str, Any] | None = None,
        listening: Listening | None = None,
    ) -> None:
        """``origin``: under which name runs are kept in the user's history; None keeps none.
        ``launched``: how the browser was started, to be kept with them. ``listening``: loopback and
        a free port unless it says otherwise; other machines need the token that is made then.
        """
        # Said outright, so that FA2_HOST, FA2_PORT and FA2_TOKEN, meant for `fa2 serve`, do not
        # reach the private server of a test run. Nobody looks at its page, so saved shaders are
        # no news to it.
        place = listening or Listening()
        self.settings = settings or Settings(
            host=place.host,
            port=place.port,
            allow_remote=not is_loopback(place.host),
            allowed_hosts=(place.name,) if place.name else (),
            token=None,
            tls_cert=None,
            tls_key=None,
            watch_shaders=False,
            history=history_file() if origin else None,
            origin=origin or "python",
            launched=dict(launched or {}),
        )
        self.app = create_app(self.settings)
        self._server = make_server(self.app)
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    @property
    def store(self) -> RunStore:
        store: RunStore = self.app.state.store
        return store

    @property
    def trainings(self) -> TrainingStore:
        trainings: TrainingStore = self.app.state.trainings
        return trainings

    @property
    def benches(self) -> BenchStore:
        benches: BenchStore = self.app.state.benches
        return benches

    def cancel(self, task: Run | Training | Bench) -> None:
        """Ends what is unfinished. Raises PageError when the server is not running."""
        if isinstance(task, Run):
            self.store.cancel(task.id)
        elif isinstance(task, Training):
            self.trainings.cancel(task.id)
        else:
            self.benches.cancel(task.id)

    @property
    def pages(self) -> Pages:
        pages: Pages = self.app.state.pages
        return pages

    @property
    def url(self) -> str:
        assert self._socket is not None, "the service has not been started"
        port = self._socket.getsockname()[1]
        return self.settings.model_copy(update={"port": port}).address

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Returns once requests are answered. Raises PageError when that takes too long."""
        self._socket = listen(self.settings.host, self.settings.port)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="fa2-server", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise PageError("the server in this process did not start; its log says why")
            time.sleep(0.005)

    def stop(self) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(GRACE_S + 3)
        if self._socket is not None:
            self._socket.close()

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
