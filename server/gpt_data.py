"""What the language model reads: the bytes of one text, in batches drawn by Philox.

The text is ``static/js/train/corpus.txt``; ``static/js/train/data.js`` draws the same batches.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from server import rng
from server.errors import CaseError
from server.paths import STATIC
from server.presets import GptConfig

Tokens = NDArray[np.uint8]

BATCH_TAG = 16
"""Third counter word of the stream that offsets come from; 0 to 4 belong to the inputs of cases."""


@cache
def corpus() -> Tokens:
    """The text, as bytes."""
    path = STATIC / "js" / "train" / "corpus.txt"
    text = np.frombuffer(path.read_bytes(), np.uint8)
    text.flags.writeable = False
    return text


def offsets(config: GptConfig, seed: int, step: int, size: int) -> NDArray[np.int64]:
    """Where the B sequences of a step begin in a text of ``size`` bytes; ``step`` counts from 0.

    A step starts at a Philox block of its own, so that any step can be had alone. The remainder
    prefers small offsets by less than size / 2³², which nobody can see.

    >>> offsets(GptConfig(layers=1, C=8, T=32, B=3, H=1, D=8), 0, 0, 10136).tolist()
    [388, 2314, 4747]
    """
    if size <= config.T:
        raise CaseError(f"T={config.T} needs a text of at least {config.T + 1} bytes, not {size}")
    blocks = -(-config.B // 4)
    words = rng.words(seed, BATCH_TAG, config.B, start_block=step * blocks)
    return words.astype(np.int64) % (size - config.T)


def batch(config: GptConfig, seed: int, step: int) -> tuple[Tokens, Tokens]:
    """Tokens and targets of a step, [B, T] each; a target is the byte behind its token."""
    text = corpus()
    at = offsets(config, seed, step, text.size)[:, None] + np.arange(config.T)
    return text[at], text[at + 1]
