"""Mistakes of the online softmax: what is rescaled when the running maximum grows, and padding."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from server.attention_problem import F64, Problem
from server.mistake import Mistake, Pieces
from server.reference import Block


def softmax(p: Problem, tile: dict[str, int]) -> Iterator[Mistake]:
    size = tile.get("j", 0)
    if not 0 < size < p.shape[2]:
        return

    def grown(block: Block) -> F64:
        """By how much the running maximum grew after each key's tile, as a factor [R,K]."""
        scores = np.log(block.p)
        keys = np.arange(scores.shape[1]) + (
            block.cols.start if isinstance(block.cols, slice) else 0
        )
        number = keys // size
        running = np.full(len(scores), -np.inf)
        maxima = np.empty_like(scores)
        for tile_number in np.unique(number):
            mine = number == tile_number
            running = np.maximum(running, scores[:, mine].max(axis=1, initial=-np.inf))
            maxima[:, mine] = running[:, None]
        found: F64 = np.where(block.seen, np.exp(running[:, None] - maxima), 0.0)
        return found

    def base_2(block: Block) -> dict[str, F64]:
        # 2^Δ instead of e^Δ at every rescale, of O and of l.
        return normalised(block, block.p * grown(block) ** (1 - math.log(2)))

    def o_kept(block: Block) -> dict[str, F64]:
        return {**block.outputs(), "o": (block.p * grown(block)) @ block.v}

    def sum_kept(block: Block) -> dict[str, F64]:
        total = (block.p * grown(block)).sum(axis=1)
        return {
            **block.outputs(),
            "o": block.o / np.where(total > 0, total, 1.0)[:, None],
            "lse": block.lse + np.log(np.where(total > 0, total, 1.0)),
        }

    def normalised(block: Block, weights: F64) -> dict[str, F64]:
        total = np.where(block.n_keys > 0, weights.sum(axis=1), 1.0)
        o = (weights @ block.v) / total[:, None]
        return {**block.outputs(), "o": o, "lse": block.lse + np.log(total)}

    def both_kept(block: Block) -> dict[str, F64]:
        return normalised(block, block.p * grown(block))

    for says, pieces in (
        ("O were not rescaled (alpha) when the running maximum grew", o_kept),
        ("the running sum l were not rescaled (alpha) when the maximum grew", sum_kept),
        ("neither O nor l were rescaled (alpha) when the running maximum grew", both_kept),
        ("the rescale (alpha) were computed in base 2", base_2),
    ):
        yield Mistake(says, ("o", "lse"), p, pieces)
    missing = -p.shape[2] % size
    for count in sorted({1, missing} - {0}):
        says = f"{count} keys beyond the end counted with a score of 0 (padding that is not masked)"
        yield Mistake(says, ("o", "lse"), p, _padded(count))
    yield Mistake("L were log l alone, without the maximum", ("lse",), p, _log_of_the_sum)


def _padded(count: int) -> Pieces:
    def pieces(block: Block) -> dict[str, F64]:
        lse = np.logaddexp(block.lse, math.log(count))
        return {**block.outputs(), "o": block.o * np.exp(block.lse - lse)[:, None], "lse": lse}

    return pieces


def _log_of_the_sum(block: Block) -> dict[str, F64]:
    return {**block.outputs(), "lse": -np.log(block.peak)}
