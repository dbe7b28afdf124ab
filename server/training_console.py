"""What `fa2 train` prints: a line every few steps, and one with the verdict and its numbers."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

from rich.console import Console
from rich.text import Text

from server.adapters import adapter_name
from server.console import COLOURS, Told
from server.progress_bar import ProgressBar
from server.training import Training
from server.training_report import TrainingReport
from server.training_results import TrainingResults
from server.training_spec import TrainingSpec

LINES = 10  # of the steps of one training
SILENCE_S = 10.0  # after this a line says what is being done
WORDS = {"skip": "REFUSED"}
PHASES = {"prepare": "preparing the model", "measure": "measuring the adapter's speed"}


class TrainingPrinter:
    """Prints trainings as they go."""

    def __init__(self, console: Console) -> None:
        self._console, self._warnings = console, Told()
        self._bar = ProgressBar(console)

    def heading(self, spec: TrainingSpec, environment: dict[str, Any]) -> None:
        c = spec.config
        engine = environment.get("engine") or "unknown browser"
        self._print(f"{engine} · {adapter_name(environment.get('adapter'))}")
        self._print(
            f"preset {spec.preset}: {c.layers} blocks, C {c.C}, context {c.T}, batch {c.B}, "
            f"{c.H} heads of {c.D}, {spec.flops_per_step / 1e9:.4g} GFLOP a step · seed {spec.seed}"
        )
        if spec.gate == "bench":
            plural = "" if spec.steps == 1 else "s"
            self._print(
                f"{spec.steps} step{plural} of each attention, after an untimed warm-up of one "
                "block over short sequences"
            )

    def watcher(self, spec: TrainingSpec) -> Watcher:
        return Watcher(spec, self._console, self._bar)

    def report(self, report: TrainingReport) -> None:
        """The line that says how it went; for a step that was timed, how long it took. Then what
        the page warns of."""
        self._verdict(report)
        for warning in self._warnings.new(report.warnings):
            self._print(f"        {warning}")

    def _verdict(self, report: TrainingReport) -> None:
        if report.spec.gate == "bench" and report.ok:
            self._timed(report)
            return
        word = WORDS.get(report.status, report.status.upper())
        gate = report.spec.gate
        what = f"{gate} gate, " if gate in ("drift", "overfit") else ""
        speed = f"; {_duration(report)}" if report.elapsed_ns else ""
        text = f": {what}attention {report.spec.attention}, {report.message}{speed}"
        self._print(Text.assemble((word, f"bold {COLOURS[report.status.upper()]}"), text))

    def summary(self, results: TrainingResults) -> None:
        """What only several trainings show, or that there was none."""
        if results.interrupted:
            self._print(Text.assemble(("INTERRUPTED", "bold yellow")))
        elif results.disagreement:
            self._print(Text.assemble(("FAIL", "bold red"), f": {results.disagreement}"))
        elif results.speedup is not None:
            what = f": a step with fa2 is {results.speedup:.3g} times as fast as with the baseline"
            if (results.environment.get("adapter") or {}).get("fallback"):
                what += " (on a software adapter, which says nothing about a GPU)"
            self._print(Text.assemble(("DONE", "bold green"), what))

    def _timed(self, report: TrainingReport) -> None:
        spec = report.spec
        seconds = sum(report.elapsed_ns) / len(report.elapsed_ns) / 1e9
        self._print(
            f"{spec.attention:<9} {_seconds(seconds)} a step, "
            f"{spec.flops_per_step / seconds / 1e9:.3g} GFLOP/s, loss {report.losses[-1]:.6f}, "
            f"{report.size_bytes / 1e6:.4g} MB ({', '.join(report.kernels)})"
        )

    def _print(self, text: str | Text) -> None:
        self._console.print(text)


class Watcher:
    """Looks at one training a few times a second: ``with watcher.shown(): … watcher(training)``."""

    def __init__(self, spec: TrainingSpec, console: Console, bar: ProgressBar) -> None:
        self._spec, self._console, self._bar = spec, console, bar
        self._every = max(1, spec.steps // LINES)
        self._seen = 0
        self._spoke = time.monotonic()

    def shown(self) -> AbstractContextManager[None]:
        """A progress bar, on a terminal."""
        return self._bar.shown(self._spec.steps)

    def __call__(self, training: Training) -> None:
        for step in range(self._seen + 1, self._known(training) + 1):
            self._seen = step
            self._bar.advance()
            if self._spec.steps > 1 and (step == 1 or step % self._every == 0 or self._silent):
                self._say(_line(training, step))
        doing = self._doing(training)
        self._bar.running(doing)
        if doing and self._silent and not training.finished:
            self._say(doing)

    def _known(self, training: Training) -> int:
        """Steps that both sides have done, where there are two."""
        done = len(training.losses)
        return min(done, len(training.twin)) if self._spec.has_twin else done

    def _doing(self, training: Training) -> str:
        progress = training.progress
        if training.state == "queued" or training.finished:
            return ""
        if len(training.losses) == self._spec.steps:
            return f"waiting for NumPy, at step {len(training.twin)}"
        if progress is None:
            return ""
        at = f"step {len(training.losses) + 1}: {100 * progress['done']:.0f} %"
        return PHASES.get(progress["phase"], at)

    @property
    def _silent(self) -> bool:
        return time.monotonic() - self._spoke > SILENCE_S

    def _say(self, line: str) -> None:
        self._spoke = time.monotonic()
        self._console.print(line)


def _line(training: Training, step: int) -> str:
    page = training.losses[step - 1]
    line = f"step {step:>4} of {training.spec.steps}  page {page:.6f}"
    if training.spec.has_twin:
        twin = training.twin[step - 1]
        apart = f"{100 * abs(page - twin) / twin:.3g} %" if twin else "–"
        line += f"  NumPy {twin:.6f}  apart {apart}"
    return line


def _duration(report: TrainingReport) -> str:
    seconds = sum(report.elapsed_ns) / 1e9
    steps = len(report.elapsed_ns)
    text = f"{steps} step{'s' * (steps != 1)} in {_seconds(seconds)}"
    return text if report.steps_per_s is None else f"{text}, {report.steps_per_s:.3g} steps/s"


def _seconds(seconds: float) -> str:
    """
    >>> _seconds(0.01234), _seconds(12.345), _seconds(345.6)
    ('12.3 ms', '12.3 s', '346 s')
    """
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"
