"""The two gates of training: do the page's losses stay with the twin's, and can a model overfit?

Pure functions of the losses. A gate that saw too few steps, or a loss that is not a finite number,
has failed; so has a training without a gate (``finished``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from server.presets import VOCABULARY

DRIFT_STEPS = 50
DRIFT_AFTER = 10
"""Steps whose difference is printed but not judged."""
DRIFT_ALLOWED = 0.05
DRIFT_ROUNDING = 1e-3
"""More than float32 explains. Right kernels reach 2e-7; a dV that stays zero reaches 0.006."""

OVERFIT_STEPS = 150
OVERFIT_BELOW = 0.5
UNIFORM = math.log(VOCABULARY)
"""Loss of a model that gives every byte the same chance; 5.545."""
OVERFIT_START = 0.25
"""How far the first loss may lie from ``UNIFORM``. Further off, the model did not start blank."""


@dataclass(frozen=True)
class Gate:
    """What a gate found; ``message`` is one line with the numbers."""

    name: Literal["drift", "overfit", "none"]
    passed: bool
    message: str
    worst: float  # drift: largest relative difference; overfit: the last loss. NaN if there is none
    step: int  # where, counted from 1; 0 if there is none

    def __str__(self) -> str:
        return f"{self.name} gate: {'PASS' if self.passed else 'FAIL'}, {self.message}"


def drift(page: Sequence[float], twin: Sequence[float]) -> Gate:
    """|page − twin| / twin, at most 5 % at every step after the tenth of fifty.

    >>> losses = [5.5 - n / 50 for n in range(50)]
    >>> print(drift([*losses[:49], 1.001 * losses[49]], losses))
    drift gate: PASS, worst 0.1 % of 5 % allowed, at step 50 (page 4.524520, NumPy 4.520000)
    """
    failed = _incomplete("drift", [("page", page), ("NumPy", twin)], DRIFT_STEPS)
    if failed:
        return failed
    apart = [abs(p - t) / t for p, t in zip(page, twin, strict=True)]
    n = max(range(DRIFT_AFTER, DRIFT_STEPS), key=lambda step: apart[step])
    passed = apart[n] < DRIFT_ALLOWED
    message = (
        f"worst {100 * apart[n]:.3g} % of {100 * DRIFT_ALLOWED:g} % allowed, at step {n + 1} "
        f"(page {page[n]:.6f}, NumPy {twin[n]:.6f})"
    )
    if passed and apart[n] > DRIFT_ROUNDING:
        message += f"; rounding stays under {100 * DRIFT_ROUNDING:g} %, so something is wrong"
    return Gate("drift", passed, message, apart[n], n + 1)


def overfit(losses: Sequence[float]) -> Gate:
    """From ln 256 to under 0.5 in 150 steps on one batch; the last loss counts.

    >>> print(overfit([5.545 * 0.9**n for n in range(150)]))
    overfit gate: PASS, loss 5.5450 at step 1, 0.0000 at step 150; under 0.5 from step 24 on
    """
    failed = _incomplete("overfit", [("page", losses)], OVERFIT_STEPS)
    if failed:
        return failed
    first, last = losses[0], losses[-1]
    message = f"loss {first:.4f} at step 1, {last:.4f} at step {OVERFIT_STEPS}"
    if abs(first - UNIFORM) > OVERFIT_START:
        why = f"{message}; a blank model starts within {OVERFIT_START} of ln 256 = {UNIFORM:.3f}"
        return Gate("overfit", False, why, last, OVERFIT_STEPS)
    if last >= OVERFIT_BELOW:
        why = f"{message}; it must end under {OVERFIT_BELOW}"
        return Gate("overfit", False, why, last, OVERFIT_STEPS)
    late = [n for n, loss in enumerate(losses) if loss >= OVERFIT_BELOW]
    message += f"; under {OVERFIT_BELOW} from step {late[-1] + 2} on"
    return Gate("overfit", True, message, last, OVERFIT_STEPS)


def finished(losses: Sequence[float], steps: int) -> Gate:
    """No gate: all steps gave a loss, whatever it is.

    >>> finished([5.5, 5.25], 2).message
    'loss 5.5000 at step 1, 5.2500 at step 2'
    """
    failed = _incomplete("none", [("page", losses)], steps)
    if failed:
        return failed
    message = f"loss {losses[0]:.4f} at step 1"
    if steps > 1:
        message += f", {losses[-1]:.4f} at step {steps}"
    return Gate("none", True, message, losses[-1], steps)


def _incomplete(
    name: Literal["drift", "overfit", "none"],
    runs: Sequence[tuple[str, Sequence[float]]],
    steps: int,
) -> Gate | None:
    """The failure of a gate whose losses cannot be judged, None if they can."""
    for who, losses in runs:
        # Before the number of steps: a page may end a training that is lost.
        for n, loss in enumerate(losses):
            if not (math.isfinite(loss) and loss > 0):
                message = f"{who} has the loss {loss} at step {n + 1}"
                return Gate(name, False, message, math.nan, n + 1)
    for who, losses in runs:
        if len(losses) != steps:
            message = f"{who} gave {len(losses)} losses, and the gate takes {steps}"
            return Gate(name, False, message, math.nan, 0)
    return None
