"""The verdict on a training: the same on the page, the command line, in tests and as JSON.

Statuses: ``pass`` (the gate is passed; without a gate: every step ran and gave a finite loss),
``fail``, ``error`` (page, device, timeout, compile: nothing was judged) and ``skip`` (refused by
name before it ran: the adapter is too small or too slow).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from server import gates
from server.errors import Unsupported
from server.report import RunError, jsonable
from server.training_spec import TrainingSpec

PASSES_PER_STEP = 2
"""Attention operations of a block in one step: a forward and a backward."""


@dataclass(frozen=True, kw_only=True)
class TrainingDone:
    """What the page says when it has finished, beside the losses that it sent before."""

    status: str  # ok, skip or error
    attention_passes: int = 0  # operations of the attention library that were recorded
    kernels: Sequence[str] = ()
    size_bytes: int = 0  # of all buffers that the training allocated
    adapter: Mapping[str, Any] | None = None
    engine: str | None = None
    warnings: Sequence[str] = ()  # what was left out, and why, where it costs speed alone
    error: RunError | None = None

    def __post_init__(self) -> None:
        error: object = self.error
        if isinstance(error, Mapping):  # straight from the JSON
            object.__setattr__(self, "error", RunError(**error))


@dataclass(frozen=True, kw_only=True)
class TrainingReport:
    """The outcome of one training."""

    spec: TrainingSpec
    status: str
    message: str
    losses: tuple[float, ...]  # of the page, a step each
    twin: tuple[float, ...]  # of NumPy; drift gate only
    elapsed_ns: tuple[float, ...]  # wall time of each step on the page
    worst: float | None = None  # drift: largest relative difference; overfit: last loss
    worst_step: int | None = None  # counted from 1
    kernels: tuple[str, ...] = ()
    size_bytes: int = 0
    adapter: Mapping[str, Any] | None = None
    engine: str = ""
    warnings: tuple[str, ...] = ()
    error: RunError | None = field(default=None)

    @property
    def ok(self) -> bool:
        return self.status == "pass"

    @property
    def steps_per_s(self) -> float | None:
        """Without the first step, which pays for what happens once."""
        times = self.elapsed_ns[1:] or self.elapsed_ns
        total = sum(times)
        return 1e9 * len(times) / total if total else None

    def to_dict(self) -> dict[str, Any]:
        return {
            **spec_dict(self.spec),
            "status": self.status,
            "message": self.message,
            "losses": [jsonable(loss) for loss in self.losses],
            "twin": [jsonable(loss) for loss in self.twin],
            "elapsed_ns": list(self.elapsed_ns),
            "worst": jsonable(self.worst),
            "worst_step": self.worst_step,
            "steps_per_s": self.steps_per_s,
            "kernels": list(self.kernels),
            "size_bytes": self.size_bytes,
            "adapter": jsonable(self.adapter),
            "engine": self.engine,
            "warnings": list(self.warnings),
            "error": dataclasses.asdict(self.error) if self.error else None,
        }


def spec_dict(spec: TrainingSpec) -> dict[str, Any]:
    """The seed is a string, since JSON numbers round."""
    return {
        "preset": spec.preset,
        "config": dataclasses.asdict(spec.config),
        "gate": spec.gate,
        "attention": spec.attention,
        "seed": str(spec.seed),
        "steps": spec.steps,
    }


@dataclass(frozen=True)
class Curves:
    """What was measured, as far as it came."""

    losses: Sequence[float] = ()
    twin: Sequence[float] = ()
    elapsed_ns: Sequence[float] = ()


def judged(spec: TrainingSpec, curves: Curves, done: TrainingDone) -> TrainingReport:
    """The report on a training that the page has finished. First failure wins: the page's own
    error, attention that did not run as often as the steps need, then the gate.
    """
    if done.error is not None:
        return failed(spec, curves, done.error, done)
    wanted = PASSES_PER_STEP * spec.config.layers * len(curves.losses)
    if done.attention_passes == 0 or done.attention_passes != wanted:
        message = (
            f"{len(curves.losses)} steps of {spec.config.layers} blocks take {wanted} passes of "
            f"the attention, the page recorded {done.attention_passes}"
            + ("" if done.attention_passes else ": nothing was dispatched")
        )
        return failed(spec, curves, RunError("page", message), done)
    gate = _gate(spec, curves)
    return _report(
        spec,
        curves,
        "pass" if gate.passed else "fail",
        gate.message,
        done,
        worst=gate.worst,
        worst_step=gate.step or None,
    )


def failed(
    spec: TrainingSpec, curves: Curves, error: RunError, done: TrainingDone | None = None
) -> TrainingReport:
    """The report on a training that could not be judged: an error, or a refusal by name."""
    status = "skip" if error.kind == Unsupported.kind else "error"
    return _report(spec, curves, status, error.message, done, error=error)


def _gate(spec: TrainingSpec, curves: Curves) -> gates.Gate:
    if spec.gate == "drift":
        return gates.drift(curves.losses, curves.twin)
    if spec.gate == "overfit":
        return gates.overfit(curves.losses)
    return gates.finished(curves.losses, spec.steps)


def _report(
    spec: TrainingSpec,
    curves: Curves,
    status: str,
    message: str,
    done: TrainingDone | None,
    **more: Any,
) -> TrainingReport:
    done = done or TrainingDone(status="error")
    return TrainingReport(
        spec=spec,
        status=status,
        message=message,
        losses=tuple(curves.losses),
        twin=tuple(curves.twin),
        elapsed_ns=tuple(curves.elapsed_ns),
        kernels=tuple(done.kernels),
        size_bytes=done.size_bytes,
        adapter=done.adapter,
        engine=done.engine or "",
        warnings=tuple(done.warnings),
        **more,
    )
