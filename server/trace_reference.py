"""The state of a query tile after each key tile, and of a tile pair of a backward, in float64.

Scores, weights and bounds are those of the judge: :func:`reference.walk` and ``tolerance``. With
x = Σ|q||k|·|scale| behind a score, S̄ the largest x of the row so far, n the keys so far, W as
in ``tolerance`` over these, and A = Σ P|V|, the state may differ from the truth by ::

    S      κu·½√(D + 8)·x              m      κu·½√(D + 8)·S̄
    alpha  (e^κuW − 1)·alpha           P      (e^κuW − 1)·P         (P = exp(S − m))
    l      (e^κuW − 1)·l               O      (e^κuW − 1)·A

and of a backward, where P = exp(S − L), Δ̄ = Σ|dO|A and G = P∘(|dO||V|ᵀ + Δ̄)::

    L      κuW                         delta  (e^κuW − 1)·Δ̄
    P      (e^κuW − 1)·P               dP     κu·½√(D + 8)·|dO||V|ᵀ      dS   (e^κuW − 1)·G

with the floors of ``tolerance`` for flushed numbers, and with f16 what the rounding of O costs Δ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from server.attention_problem import F64, Array, Problem
from server.measure import Bounds, part_of
from server.reference import Block, walk
from server.tolerance import (
    AROUND,
    FLUSHED,
    H16,
    SAME,
    STEP16,
    U,
    block_bounds,
    weight,
)

FORWARD = ("S", "m", "alpha", "P", "l", "O")
BACKWARD = ("L", "P", "delta", "dP", "dS")
BY_ROW = ("m", "alpha", "l", "L", "delta")


@dataclass(frozen=True)
class Expected:
    """A quantity: rows, or rows × keys (O: × channels). ``matters``: where it is judged."""

    value: F64
    allowed: F64
    matters: np.ndarray


@dataclass(frozen=True)
class Tile:
    """The rows of a query tile and every key: scores (−inf where masked), x, and V."""

    s: F64  # [R,Tk]
    x: F64  # [R,Tk]
    v: F64  # [Tk,Dv]
    D: int

    @property
    def end(self) -> int:
        """Of the keys that a row sees."""
        seen = np.flatnonzero((self.s > -np.inf).any(axis=0))
        return 0 if seen.size == 0 else int(seen[-1]) + 1


@dataclass(frozen=True)
class Pair:
    """The rows of a query tile and the keys of a key tile: what lies behind their gradients."""

    blocks: tuple[Block, ...]  # of these keys alone; what a row has one of is over all keys
    v: F64  # [K,Dv]
    shape: tuple[int, int]
    D: int


def tile_of(problem: Problem, b: int, h: int, rows: tuple[int, int]) -> Tile:
    """What the query tile of a head computes from."""
    shape = (rows[1] - rows[0], problem.shape[2])
    s, x = np.full(shape, -np.inf), np.zeros(shape)
    for block in _blocks(problem, b, h, rows):
        s[block.at, block.cols] = block.s
        x[block.at, block.cols] = np.where(block.seen, block.x, 0.0)
    return Tile(s, x, _values(problem, b, h), problem.q.shape[3])


def pair_of(problem: Problem, b: int, h: int, rows: tuple[int, int], keys: tuple[int, int]) -> Pair:
    """What lies behind the gradients of a tile pair of a head.

    Raises ValueError for a forward, which has none.
    """
    if problem.do is None:
        raise ValueError("a forward has no gradients to tell")
    blocks = tuple(_blocks(problem, b, h, rows, np.arange(*keys)))
    v = _values(problem, b, h)[slice(*keys)]
    return Pair(blocks, v, (rows[1] - rows[0], keys[1] - keys[0]), problem.q.shape[3])


def _blocks(
    problem: Problem, b: int, h: int, rows: tuple[int, int], keys: Array | None = None
) -> Iterator[Block]:
    _, _, _, H, Hkv = problem.shape
    group = H // Hkv
    part = part_of(problem, b, np.array([h // group]))
    found = walk(part, rows=np.arange(*rows), keys=keys)
    return (block for block in found if block.h == h % group)


def _values(problem: Problem, b: int, h: int) -> F64:
    _, _, _, H, Hkv = problem.shape
    found: F64 = problem.v[b, :, h // (H // Hkv)].astype(np.float64)
    return found


def forward(tile: Tile, key_tile: int, bounds: Bounds) -> Iterator[dict[str, Expected]]:
    """The state after each key tile, from the first to the last that a row sees.

    One state at a time: whoever keeps them all keeps R·D numbers for each key tile.
    """
    R, Tk = tile.s.shape
    kappa, spread = bounds.kappa, 0.5 * np.sqrt(tile.D + AROUND)
    m, l_i, s_bar, n = np.full(R, -np.inf), np.zeros(R), np.zeros(R), np.zeros(R)
    o, a = np.zeros((R, tile.v.shape[1])), np.zeros((R, tile.v.shape[1]))
    floor = np.zeros_like(o)
    with np.errstate(all="ignore"):
        for start in range(0, tile.end, key_tile):
            keys = slice(start, min(start + key_tile, Tk))
            s, x, v = tile.s[:, keys], tile.x[:, keys], tile.v[keys]
            seen = s > -np.inf
            m_new = np.maximum(m, s.max(axis=1))
            some = m_new > -np.inf
            before = m > -np.inf
            alpha = np.where(some, np.exp(m - np.where(some, m_new, 0.0)), 1.0)
            p = np.where(seen, np.exp(s - np.where(some, m_new, 0.0)[:, None]), 0.0)
            l_i = alpha * l_i + p.sum(axis=1)
            o = alpha[:, None] * o + p @ v
            a = alpha[:, None] * a + p @ np.abs(v)
            floor = floor + FLUSHED * (seen @ np.abs(v) + seen.sum(axis=1)[:, None])
            m, n = m_new, n + seen.sum(axis=1)
            s_bar = np.maximum(s_bar, x.max(axis=1))
            alike = bounds.few_weights | (n <= (1 + SAME * n) * l_i)
            exact = np.expm1(kappa * U * weight(s_bar, n, tile.D, alike))
            every = np.ones(R, bool)
            yield {
                "S": Expected(s, kappa * U * spread * x + FLUSHED * tile.D, np.ones_like(seen)),
                "m": Expected(m, kappa * U * spread * s_bar + FLUSHED * tile.D, every),
                # Before a row has seen a key there is nothing that it could rescale.
                "alpha": Expected(alpha, exact * alpha + FLUSHED, before),
                "P": Expected(p, exact[:, None] * p + FLUSHED * seen, np.ones_like(seen)),
                "l": Expected(l_i, exact * l_i + FLUSHED * n, every),
                "O": Expected(o, exact[:, None] * a + floor, np.ones_like(o, bool)),
            }


def backward(pair: Pair, bounds: Bounds) -> dict[str, Expected]:
    """L, P, delta, dP and dS of the pair's rows and keys."""
    shape, R = pair.shape, pair.shape[0]
    by_row = {"L": (np.full(R, -np.inf), np.zeros(R)), "delta": (np.zeros(R), np.zeros(R))}
    by_key = {name: (np.zeros(shape), np.full(shape, FLUSHED)) for name in ("P", "dP", "dS")}
    seen = np.zeros(shape, bool)
    spread = bounds.kappa * U * 0.5 * np.sqrt(pair.D + AROUND)
    with np.errstate(all="ignore"):
        for block in pair.blocks:
            margins = block_bounds(
                block, kappa=bounds.kappa, few_weights=bounds.few_weights, f16=bounds.f16
            )
            _rows(by_row, block, margins["lse"], bounds.f16)
            outputs = block.outputs()
            for name, output in (("P", "attn"), ("dS", "dbias")):
                by_key[name][0][block.at, block.cols] = outputs[output]
                by_key[name][1][block.at, block.cols] = margins[output]
            seen[block.at, block.cols] = block.seen
            if block.do is not None:
                size = np.abs(block.do) @ np.abs(pair.v).T
                by_key["dP"][0][block.at] = block.do @ pair.v.T
                by_key["dP"][1][block.at] = spread * size + FLUSHED
    every = np.ones(R, bool)
    found = {name: Expected(value, allowed, every) for name, (value, allowed) in by_row.items()}
    for name, (value, allowed) in by_key.items():
        # dP of a masked key is multiplied by a weight of zero: a kernel may leave it out.
        found[name] = Expected(value, allowed, seen if name == "dP" else np.ones(shape, bool))
    return {name: found[name] for name in BACKWARD}


def _rows(by_row: dict[str, tuple[F64, F64]], block: Block, margin: F64, f16: bool) -> None:
    """L and delta of a block's rows."""
    if block.do is None:
        return
    by_row["L"][0][block.at], by_row["L"][1][block.at] = block.lse, margin
    delta = (block.do * block.o).sum(axis=1)
    size = np.abs(block.do)
    allowed = np.expm1(margin) * (size * block.a).sum(axis=1) + FLUSHED * block.do.shape[1]
    if f16:
        allowed = allowed + (size * (H16 * np.abs(block.o) + STEP16)).sum(axis=1)
    by_row["delta"][0][block.at], by_row["delta"][1][block.at] = delta, allowed
