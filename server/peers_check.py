"""Whether what a library computed is attention: its outputs beside the float64 reference.

float32 outputs have the judge's own bounds (tolerance.py). With f16 storage a peer may add up in
f16 too, which those bounds do not allow; there each row has to be near the truth as a whole:
its error, as a root mean square, at most 2 % of the row's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from server.cases import Case
from server.inputs import few_weights, make_inputs
from server.judge import problem_of
from server.measure import Bounds, measure, sample_of
from server.outputs import OutputSpec, logical, outputs_of
from server.tolerance import KAPPA
from server.verdict import Array, Output, compare

COMPARED = ("o", "dq", "dk", "dv")
"""Outputs that every library has; the log-sum-exp is ours alone."""
TILE = 64
ROW_ERROR_F16 = 0.02
SAMPLED_ABOVE = 1024
"""Longer cases are checked on a sample of rows and keys, as `fa2 bench` checks ours."""


@dataclass(frozen=True)
class Error:
    """Of one output: the largest |error|, and how much of what is allowed was used."""

    max_error: float
    ratio: float


@dataclass(frozen=True)
class Check:
    """The verdict on one subject."""

    right: bool
    message: str
    errors: dict[str, Error]

    def to_dict(self) -> dict[str, Any]:
        """JSON has no NaN and no infinity: they are strings."""
        errors = {
            name: {"max_error": _number(error.max_error), "ratio": _number(error.ratio)}
            for name, error in self.errors.items()
        }
        return {"right": self.right, "message": self.message, "errors": errors}


def wanted(case: Case) -> dict[str, OutputSpec]:
    """The outputs that are looked at, by name, with the bytes that they have."""
    return {spec.name: spec for spec in outputs_of(case) if spec.name in COMPARED}


def check(case: Case, tensors: Mapping[str, Array]) -> Check:
    """``tensors``: flat arrays of :func:`wanted`, in the case's dtype."""
    specs = wanted(case)
    actual = {name: logical(case, spec, tensors[name]) for name, spec in specs.items()}
    problem = problem_of(case, make_inputs(case))
    f16 = case.dtype == "f16"
    with np.errstate(all="ignore"):
        bounds = Bounds(KAPPA, few_weights(case), f16)
        sample = sample_of(problem, {"i": TILE, "j": TILE}, case.seed, SAMPLED_ABOVE)
        measured = measure(problem, actual, bounds, sample)
        errors = {output.name: _error(output, f16) for output in measured.outputs}
    wrong = [name for name, error in errors.items() if not error.ratio <= 1]
    return Check(not wrong, _message(errors, wrong), errors)


def _error(output: Output, f16: bool) -> Error:
    got = output.actual.astype(np.float64)
    largest = float(np.abs(got - output.expected).max())  # NaN if anything is
    if not f16:
        return Error(largest, compare(output).worst_ratio)
    error = np.sqrt(np.square(got - output.expected).mean(axis=-1))
    size = np.sqrt(np.square(output.expected).mean(axis=-1))
    # Rows whose truth is next to nothing (dq of a row that sees one key) count by the others'.
    floor = 0.05 * float(np.sqrt(np.square(output.expected).mean()))
    share = float((error / np.maximum(size, floor)).max()) / ROW_ERROR_F16
    return Error(largest, share if share >= 0 else float("inf"))  # NaN becomes inf


def _message(errors: Mapping[str, Error], wrong: list[str]) -> str:
    shown = ", ".join(f"{name} errs by {error.max_error:.2g}" for name, error in errors.items())
    if not wrong:
        return shown
    times = ", ".join(f"{name} {errors[name].ratio:.3g}" for name in wrong)
    return f"{shown}; times what is allowed: {times}"


def _number(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
