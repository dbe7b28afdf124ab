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

from server.attention_problem import F64, Problem
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
    blocks: tuple[Block, ...]


def tile_of(problem: Problem, b: int, h: int, rows: tuple[int, int]) -> Tile:
    """What the query tile of a head computes from."""
    _, _, Tk, H, Hkv = problem.shape
    group = H // Hkv
    part = part_of(problem, b, np.array([h // group]))
    chosen = np.arange(*rows)
    blocks = tuple(block for block in walk(part, rows=chosen) if block.h == h % group)
    s, x = np.full((len(chosen), Tk), -np.inf), np.zeros((len(chosen), Tk))
    for block in blocks:
        s[block.at, block.cols] = block.s
        x[block.at, block.cols] = np.where(block.seen, block.x, 0.0)
    v = part.v[0, :, 0].astype(np.float64)
    return Tile(s, x, v, problem.q.shape[3], blocks)


def forward(tile: Tile, key_tile: int, bounds: Bounds) -> Iterator[dict[str, Expected]]:
    """The state after each key tile, from the first to the last that a row sees."""
    R, Tk = tile.s.shape
    kappa, spread = bounds.kappa, 0.5 * np.sqrt(tile.D + AROUND)
    m, l_i, s_bar, n = np.full(R, -np.inf), np.zeros(R), np.zeros(R), np.zeros(R)
    o, a = np.zeros((R, tile.v.shape[1])), np.zeros((R, tile.v.shape[1]))
    floor = np.zeros_like(o)
    seen_at_all = np.flatnonzero((tile.s > -np.inf).any(axis=0))
    end = 0 if seen_at_all.size == 0 else int(seen_at_all[-1]) + 1
    with np.errstate(all="ignore"):
        for start in range(0, end, key_tile):
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


def backward(tile: Tile, keys: tuple[int, int], bounds: Bounds) -> dict[str, Expected]:
    """L, P, delta, dP and dS of the tile's rows and some keys."""
    R, width = len(tile.s), keys[1] - keys[0]
    by_row = {"L": (np.full(R, -np.inf), np.zeros(R)), "delta": (np.zeros(R), np.zeros(R))}
    shape = (R, width)
    by_key = {name: (np.zeros(shape), np.full(shape, FLUSHED)) for name in ("P", "dP", "dS")}
    seen = np.zeros(shape, bool)
    spread = bounds.kappa * U * 0.5 * np.sqrt(tile.D + AROUND)
    with np.errstate(all="ignore"):
        for block in tile.blocks:
            if block.do is None or block.ds is None:
                raise ValueError("a forward has no gradients to tell")
            margins = block_bounds(
                block, kappa=bounds.kappa, few_weights=bounds.few_weights, f16=bounds.f16
            )
            _rows(by_row, block, margins["lse"], bounds.f16)
            columns = np.arange(tile.v.shape[0])[block.cols]
            inside = np.flatnonzero((columns >= keys[0]) & (columns < keys[1]))
            at = columns[inside] - keys[0]
            row = np.arange(block.at.start, block.at.stop)[:, None]
            dp = block.do @ tile.v.T[:, keys[0] : keys[1]]
            size = np.abs(block.do) @ np.abs(tile.v).T[:, keys[0] : keys[1]]
            by_key["dP"][0][block.at], by_key["dP"][1][block.at] = dp, spread * size + FLUSHED
            for name, output in (("P", "attn"), ("dS", "dbias")):
                by_key[name][0][row, at] = block.outputs()[output][:, inside]
                by_key[name][1][row, at] = margins[output][:, inside]
            seen[row, at] = block.seen[:, inside]
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
