"""AdamW: Adam with a decay of the weights that does not pass through its averages.

::

    m = β1 m + (1 − β1) g          m̂ = m / (1 − β1ᵗ)
    v = β2 v + (1 − β2) g²         v̂ = v / (1 − β2ᵗ)
    w = w − rate (m̂ / (√v̂ + ε) + decay w)          decay for matrices only

Source: Loshchilov and Hutter, arXiv:1711.05101, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from server.gpt_layers import Array
from server.presets import OPTIMIZER, AdamWSettings


class AdamW:
    """The averages of every weight. ``update`` changes the weights in place, in their own dtype.

    ``decaying``: names of the weights that shrink.
    """

    def __init__(
        self,
        weights: Mapping[str, Array],
        *,
        rate: float,
        decaying: Collection[str],
        settings: AdamWSettings = OPTIMIZER,
    ) -> None:
        self.settings = settings
        self.rate = rate
        self.decaying = frozenset(decaying)
        self._m = {name: np.zeros_like(w) for name, w in weights.items()}
        self._v = {name: np.zeros_like(w) for name, w in weights.items()}
        # β to the power of t as a running product: the page has the same bits, which pow() of two
        # languages need not give.
        self._power1 = self._power2 = 1.0

    def update(self, weights: Mapping[str, Array], grads: Mapping[str, Array]) -> None:
        s = self.settings
        self._power1 *= s.beta1
        self._power2 *= s.beta2
        correct1, correct2 = 1 / (1 - self._power1), 1 / (1 - self._power2)
        with np.errstate(all="ignore"):  # a gradient that is not finite shows in the next loss
            for name, w in weights.items():
                g, m, v = grads[name], self._m[name], self._v[name]
                m += (1 - s.beta1) * (g - m)
                v += (1 - s.beta2) * (g * g - v)
                step = m * correct1 / (np.sqrt(v * correct2) + s.epsilon)
                if name in self.decaying:
                    step += s.decay * w
                w -= self.rate * step
