"""Mistakes of the backward, and those of the forward that a backward makes alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from server.attention_problem import F64, Problem
from server.mistake import GRADIENTS, Mistake, Pieces
from server.reference import Block


def in_the_backward(mistake: Mistake) -> Mistake:
    """The same, where the forward, its L and Δ are right."""
    outputs = tuple(name for name in mistake.outputs if name in GRADIENTS)
    says = f"in the backward alone {mistake.says}"
    return replace(mistake, says=says, outputs=outputs, by_right_lse=True)


def gradients(p: Problem) -> Iterator[Mistake]:
    def with_ds(change: Callable[[Block, F64, F64], F64]) -> Pieces:
        def pieces(block: Block) -> dict[str, F64]:
            assert block.do is not None
            dp = block.do @ block.v.T
            delta = (block.do * block.o).sum(axis=1)[:, None]
            return replace(block, ds=change(block, dp, delta)).outputs()

        return pieces

    for says, change in (
        ("Δ were forgotten in dS = P∘(dP − Δ)", lambda block, dp, _: block.p * dp),
        ("Δ were added instead of subtracted", lambda block, dp, delta: block.p * (dp + delta)),
        ("the factor P were missing in dS = P∘(dP − Δ)",
         lambda block, dp, delta: np.where(block.seen, dp - delta, 0.0)),
        ("dS were P", lambda block, _, __: block.p),
        ("P were 2^(S − L) instead of e^(S − L)",
         lambda block, dp, delta: _base_2(block) * (dp - delta)),
        ("Δ were the sum of dO∘dO instead of dO∘O",
         lambda block, dp, _: block.p * (dp - (block.do**2).sum(axis=1)[:, None])),
    ):  # fmt: skip
        yield Mistake(says, GRADIENTS, p, with_ds(change))

    def dv_of_ds(block: Block) -> dict[str, F64]:
        assert block.ds is not None
        assert block.do is not None
        return {**block.outputs(), "dv": block.ds.T @ block.do}

    def dk_of_p(block: Block) -> dict[str, F64]:
        return {**block.outputs(), "dk": block.scale * (block.p.T @ block.q)}

    def dk_of_do(block: Block) -> dict[str, F64]:
        assert block.ds is not None
        assert block.do is not None
        return {**block.outputs(), "dk": block.scale * (block.ds.T @ block.do)}

    def dv_of_q(block: Block) -> dict[str, F64]:
        return {**block.outputs(), "dv": block.p.T @ block.q}

    def dv_base_2(block: Block) -> dict[str, F64]:
        assert block.do is not None
        return {**block.outputs(), "dv": _base_2(block).T @ block.do}

    yield Mistake("dK were made of dO instead of Q", ("dk",), p, dk_of_do)
    yield Mistake("dV were made of Q instead of dO", ("dv",), p, dv_of_q)
    yield Mistake("P were 2^(S − L) instead of e^(S − L)", ("dv",), p, dv_base_2)
    yield Mistake("dV were made of dS instead of P", ("dv",), p, dv_of_ds)
    yield Mistake("dK were made of P instead of dS", ("dk",), p, dk_of_p)


def _base_2(block: Block) -> F64:
    return np.where(block.seen, np.exp2(np.log(block.p)), 0.0)
