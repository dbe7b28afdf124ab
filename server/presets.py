"""The sizes of the language models that the training gates use, and their optimizer's settings.

The table lies in ``static/js/train/presets.json``, which the page reads too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from server.errors import CaseError
from server.paths import STATIC

VOCABULARY = 256
"""Tokens are bytes."""


@dataclass(frozen=True)
class GptConfig:
    """One model and its batch.

    Raises ``CaseError`` for a size that is not a positive whole number, for C ≠ H·D and for a
    learning rate that is not positive.
    """

    layers: int  # transformer blocks
    C: int  # channels of the residual stream, H·D
    T: int  # context: positions of a sequence
    B: int  # sequences of a batch
    H: int  # heads
    D: int  # channels of a head
    rate: float = 1e-3  # learning rate, constant

    def __post_init__(self) -> None:
        for name in ("layers", "C", "T", "B", "H", "D"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise CaseError(f"{name}={value!r}: give a whole number, 1 or more")
        if self.C != self.H * self.D:
            raise CaseError(
                f"C={self.C} must be H·D, and H={self.H}, D={self.D} make {self.H * self.D}"
            )
        if not 0 < self.rate < 1:
            raise CaseError(f"rate={self.rate}: give a number between 0 and 1")


@dataclass(frozen=True)
class AdamWSettings:
    """Coefficients of AdamW (``server/adamw.py``)."""

    beta1: float  # memory of the mean of the gradient
    beta2: float  # memory of the mean of its square
    epsilon: float  # added to the root of the second
    decay: float  # of matrices, times the learning rate


def _read() -> tuple[dict[str, GptConfig], AdamWSettings]:
    table = json.loads((STATIC / "js" / "train" / "presets.json").read_text(encoding="utf-8"))
    presets = {name: GptConfig(**row) for name, row in table["presets"].items()}
    return presets, AdamWSettings(**table["optimizer"])


PRESETS: Mapping[str, GptConfig]
PRESETS, OPTIMIZER = _read()


def preset(name: str) -> GptConfig:
    """The preset ``name``; ``CaseError`` for an unknown one lists them all.

    >>> preset("tiny").C
    48
    """
    if name not in PRESETS:
        raise CaseError(f"preset={name}: unknown; there are {', '.join(PRESETS)}")
    return PRESETS[name]
