"""NumPy twins at work, off the loop: one thread a training, one training at a time.

Daemon threads on purpose: a pool's threads are joined when the interpreter exits, so Ctrl+C would
wait for a step.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from server.errors import PageError, Unsupported
from server.gpt import Twin
from server.loop import Loop
from server.training import Training

log = logging.getLogger("server")

Told = Callable[[Training, float], None]
Failed = Callable[[Training, str, str], None]  # kind of the error, message


class Twins:
    """Trains a twin beside the page. Its losses, and its failure, are told on the loop."""

    def __init__(self, loop: Loop, told: Told, failed: Failed) -> None:
        self._loop, self._told, self._failed = loop, told, failed
        self._one = threading.Lock()

    def start(self, training: Training) -> None:
        work = threading.Thread(target=self._work, args=[training], name="twin", daemon=True)
        work.start()

    def _work(self, training: Training) -> None:
        try:
            with self._one:
                self._train(training)
        except Exception as error:
            log.exception("the twin of %s failed", training.spec)
            message = f"the NumPy twin failed: {error!r}"
            self._tell(partial(self._failed, training, "error", message))

    def _train(self, training: Training) -> None:
        spec = training.spec
        twin = None
        for n in range(spec.steps):
            if training.finished:
                return
            twin = twin or Twin(spec.config, seed=spec.seed, one_batch=spec.one_batch)
            began = time.monotonic()
            loss = twin.step()
            step_s = time.monotonic() - began
            if n == 0 and spec.steps * step_s > training.limit_s:
                why = (
                    f"a step of preset {spec.preset} takes NumPy {step_s:.1f} s here, "
                    f"{spec.steps} steps {spec.steps * step_s:.0f} s, more than the limit of "
                    f"{training.limit_s:g} s; use a smaller preset, or raise --limit"
                )
                self._tell(partial(self._failed, training, Unsupported.kind, why))
                return
            self._tell(partial(self._told, training, loss))

    def _tell(self, action: Callable[[], None]) -> None:
        with suppress(PageError):  # the server has stopped: nobody wants to know
            self._loop.run(action)
