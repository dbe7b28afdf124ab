"""The NumPy twin of the page's training: same first weights, same batches, same rule, float32.

>>> from server.presets import preset
>>> round(Twin(preset("tiny"), seed=1).step(), 1)
5.5
"""

from __future__ import annotations

from server.adamw import AdamW
from server.gpt_data import batch
from server.gpt_model import initial_weights, loss_and_gradients, parameters
from server.presets import GptConfig


class Twin:
    """A model in training. ``one_batch``: every step sees the batch of the first."""

    def __init__(self, config: GptConfig, *, seed: int = 0, one_batch: bool = False) -> None:
        self.config = config
        self.seed = seed
        self.one_batch = one_batch
        self.steps = 0
        self.weights = initial_weights(config, seed)
        self._optimizer = AdamW(
            self.weights,
            rate=config.rate,
            decaying=[p.name for p in parameters(config) if p.decays],
        )

    def step(self) -> float:
        """One step; the loss of its batch, before the weights change."""
        tokens, targets = batch(self.config, self.seed, 0 if self.one_batch else self.steps)
        loss, grads = loss_and_gradients(self.weights, tokens, targets, self.config)
        self._optimizer.update(self.weights, grads)
        self.steps += 1
        return loss
