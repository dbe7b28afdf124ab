"""What a training is asked to do: which model, how many steps, what is judged afterwards."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from server.errors import CaseError
from server.gates import DRIFT_STEPS, OVERFIT_STEPS
from server.gpt_data import corpus
from server.presets import VOCABULARY, GptConfig, preset

GATES = {
    "drift": DRIFT_STEPS,
    "overfit": OVERFIT_STEPS,
    "bench": 1,
    "none": 100,
}
"""Steps of each; the last two take another number too, and are not judged by their losses."""

ATTENTIONS = ("fa2", "baseline")
MAX_STEPS = 10_000

BASELINE_WORK = 4
"""How much more the baseline's attention may do: its backward has no tiles and skips nothing."""


@dataclass(frozen=True)
class TrainingSpec:
    """One training, fully decided. Made by ``of``, which checks it.

    >>> str(TrainingSpec.of("tiny", gate="overfit", seed=7))
    'overfit gate, preset tiny, attention fa2, seed 7'
    """

    preset: str
    config: GptConfig
    gate: str
    attention: str
    seed: int
    steps: int

    @classmethod
    def of(
        cls,
        name: str = "tiny",
        *,
        gate: str = "drift",
        attention: str = "fa2",
        seed: int = 0,
        steps: int | None = None,
        context: int | None = None,
    ) -> TrainingSpec:
        """``context`` replaces the preset's T. Raises CaseError for what there is not."""
        if gate not in GATES:
            raise CaseError(f"gate={gate}: unknown; there are {', '.join(GATES)}")
        if attention not in ATTENTIONS:
            raise CaseError(f"attention={attention}: unknown; use {' or '.join(ATTENTIONS)}")
        if not 0 <= seed < 2**64:
            raise CaseError(f"seed={seed} must be 0 or more and below 2⁶⁴")
        config = preset(name)
        if context is not None:
            config = dataclasses.replace(config, T=context)
        size = corpus().size
        if size <= config.T:
            raise CaseError(f"context={config.T} must be below {size}, the bytes of the text")
        return cls(name, config, gate, attention, seed, _steps(gate, steps))

    @property
    def case_id(self) -> str:
        """The training in a word, as lists of runs and trainings have it; defaults are left out.

        >>> TrainingSpec.of("tiny", gate="none", steps=3, context=16, seed=7).case_id
        'train:preset=tiny,gate=none,steps=3,T=16,seed=7'
        """
        parts = {"preset": self.preset, "gate": self.gate}
        if self.steps != GATES[self.gate]:
            parts["steps"] = str(self.steps)
        if self.config.T != preset(self.preset).T:
            parts["T"] = str(self.config.T)
        if self.seed:
            parts["seed"] = str(self.seed)
        return "train:" + ",".join(f"{key}={value}" for key, value in parts.items())

    @property
    def one_batch(self) -> bool:
        """Every step sees the batch of the first."""
        return self.gate == "overfit"

    @property
    def has_twin(self) -> bool:
        """The losses are held against those of NumPy."""
        return self.gate == "drift"

    @property
    def flops_per_step(self) -> float:
        return flops_per_step(self.config)

    @property
    def most_work(self) -> float:
        """Operations of a step for deadlines: what the kernels do, and not only what they must."""
        more = BASELINE_WORK - 1 if self.attention == "baseline" else 0
        return self.flops_per_step + more * attention_flops(self.config)

    def __str__(self) -> str:
        what = {"bench": "timing", "none": "training"}.get(self.gate, f"{self.gate} gate")
        model = f"preset {self.preset}"
        if self.config != preset(self.preset):
            model += f" with T = {self.config.T}"
        return f"{what}, {model}, attention {self.attention}, seed {self.seed}"


def _steps(gate: str, steps: int | None) -> int:
    own = GATES[gate]
    if steps is None:
        return own
    if gate in ("drift", "overfit") and steps != own:
        raise CaseError(
            f"steps={steps}: the {gate} gate takes {own} steps; leave steps out, or use gate=none"
        )
    if not 1 <= steps <= MAX_STEPS:
        raise CaseError(f"steps={steps} must lie between 1 and {MAX_STEPS}")
    return steps


def flops_per_step(config: GptConfig) -> float:
    """Floating-point operations of a step, about, as ``static/js/train/config.js`` counts them:
    six for each weight of a product and token, and the visible half of the attention.
    """
    c = config
    products = 12 * c.C * c.C * c.layers + c.C * VOCABULARY
    return 6 * c.B * c.T * products + attention_flops(config)


def attention_flops(config: GptConfig) -> float:
    """The attention's part: two products forward and five backward, where they are visible."""
    c = config
    scores = c.T * (c.T + 1) / 2
    return c.layers * 2 * (2 + 5) * c.B * c.H * scores * c.D


def twin_bytes(config: GptConfig) -> int:
    """Memory that the NumPy twin takes, about: weights, gradients and two averages, and what the
    backward needs of each block, the matrix P among it.
    """
    c = config
    rows = c.B * c.T
    weights = c.layers * 12 * c.C * c.C + (2 * VOCABULARY + c.T) * c.C
    kept = c.layers * (16 * rows * c.C + c.B * c.H * c.T * c.T)
    return 4 * (4 * weights + kept + 4 * rows * VOCABULARY)
