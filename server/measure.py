"""A case's outputs beside their truth and their bounds: all of them, or above T = 8192 a sample.

A long sequence is judged on some rows of every head (o, lse, attn, dq) and some keys of some heads
of the last batch (dk, dv; the last head among several), since T² scores in float64 take minutes:
the first and last ones, those on both sides of tile edges, one of each tile and one of each lane of
a tile (as far as there are no more than ROUND of them), and random ones that depend on the case's
seed alone. So a lane that is wrong in each tile is seen, and a tile that is wrong in each lane. The
report says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from server.attention_problem import F64, Array, Problem
from server.outputs import AXES
from server.reference import Assembly, walk
from server.tolerance import block_bounds, stored_f16
from server.verdict import Output

SAMPLED_ABOVE = 8192
RANDOM_PICKS = 48
ROUND = 256
KEY_BUDGET = 1 << 28
"""Scores to compute for the sample of dk and dv; one key head is always judged."""

BY_KEY = ("dk", "dv")


@dataclass(frozen=True)
class Bounds:
    """What the bounds depend on beside the block."""

    kappa: float
    few_weights: bool
    f16: bool


@dataclass(frozen=True)
class Sample:
    """Rows of every head; keys of one batch and some key heads."""

    rows: Array
    keys: Array
    batch: int
    kv_heads: Array


@dataclass(frozen=True)
class Measured:
    """Outputs ready to be compared; ``truth`` and ``allowed`` by name, of ``rows`` (None: all)."""

    outputs: list[Output]
    truth: dict[str, F64]
    allowed: dict[str, F64]
    rows: Array | None


def sample_of(
    problem: Problem, tile: Mapping[str, int], seed: int, above: int | None = None
) -> Sample | None:
    """Which rows and keys are judged; None = everything, as for lengths up to ``above``
    (None: SAMPLED_ABOVE).
    """
    B, Tq, Tk, H, Hkv = problem.shape
    if max(Tq, Tk) <= (SAMPLED_ABOVE if above is None else above):
        return None
    rng = np.random.default_rng(seed)
    rows = _pick(Tq, tile.get("i", 64), rng)
    keys = _pick(Tk, tile.get("j", 64), rng)
    heads = max(1, KEY_BUDGET // (H // Hkv * Tq * Tk))
    bias = problem.bias4
    if bias is not None and bias.shape[1] < H:
        heads = Hkv  # dbias is a sum over the heads
    kv_heads = rng.permutation(Hkv)[:heads]
    if heads > 1:  # where offsets overflow and grids fold, the last one is wrong first
        kv_heads = np.union1d(kv_heads[1:], Hkv - 1)
    return Sample(rows, keys, B - 1, np.sort(kv_heads))


def _pick(T: int, tile: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """First and last, both sides of the first, the last and some random tile edges, a round over
    tiles and lanes, random ones."""
    edges = np.arange(tile, T, tile)
    some = np.concatenate([edges[:1], edges[-1:], rng.permutation(edges)[:6]])
    tiles = -(-T // tile)
    turns = min(ROUND, max(tiles, tile))
    around = np.resize(rng.permutation(tiles), turns) * tile
    around += np.resize(rng.permutation(tile), turns)
    around[around >= T] -= tile  # a lane that the last tile lacks, in the one before
    picks = [np.arange(4), T - 1 - np.arange(4), some, some - 1, around]
    picks.append(rng.integers(0, T, RANDOM_PICKS))
    everything = np.unique(np.concatenate(picks))
    return everything[(everything >= 0) & (everything < T)].astype(np.intp)


def measure(
    problem: Problem,
    actual: Mapping[str, Array],
    bounds: Bounds,
    sample: Sample | None,
    also: tuple[str, ...] = (),
) -> Measured:
    """Truth and bounds for the outputs in ``actual`` (logical order, as ``outputs.logical``).

    ``also``: outputs by row whose truth and bounds are wanted although nobody computed them.
    """
    also = tuple(name for name in also if name not in actual)
    if sample is None:
        truth, allowed = _both(problem, (*actual, *also), bounds)
        outputs = [Output(n, AXES[n], a, truth[n], allowed[n]) for n, a in actual.items()]
        return Measured(outputs, truth, allowed, None)
    summed = problem.bias4 is not None and problem.bias4.shape[2] == 1 < problem.shape[1]
    by_key = (*BY_KEY, "dbias") if summed else BY_KEY
    rows, keys = sample.rows, sample.keys
    names = tuple(n for n in actual if n not in by_key)
    truth, allowed = _both(problem, (*names, *also), bounds, rows=rows)
    outputs = []
    for name in names:
        axis = AXES[name].index("i")
        picked = actual[name].take(rows, axis) if actual[name].shape[axis] > 1 else actual[name]
        coords = {"i": rows} if actual[name].shape[axis] > 1 else {}
        outputs.append(Output(name, AXES[name], picked, truth[name], allowed[name], coords))
    names = tuple(n for n in actual if n in by_key)
    if names:
        part = part_of(problem, sample.batch, sample.kv_heads)
        wanted, margin = _both(part, names, bounds, keys=keys)
        for name in names:
            outputs.append(_by_key(name, actual[name], wanted[name], margin[name], sample))
    order = list(actual)
    outputs.sort(key=lambda output: order.index(output.name))
    return Measured(outputs, truth, allowed, rows)


def _both(
    problem: Problem, names: tuple[str, ...], bounds: Bounds, **chosen: Any
) -> tuple[dict[str, F64], dict[str, F64]]:
    """Truth and bounds out of one walk."""
    truth, allowed = Assembly(problem, names, **chosen), Assembly(problem, names, **chosen)
    for block in walk(problem, **chosen):
        truth.add(block, block.outputs())
        pieces = block_bounds(
            block,
            kappa=bounds.kappa,
            few_weights=bounds.few_weights,
            f16=bounds.f16,
        )
        allowed.add(block, pieces)
    if bounds.f16:
        for name in set(names) & {"o", "dq", "dk", "dv"}:
            allowed.arrays[name] = stored_f16(allowed.arrays[name], truth.arrays[name])
    return truth.arrays, allowed.arrays


def part_of(problem: Problem, batch: int, kv: Array) -> Problem:
    """The problem of one batch and some key heads, with the query heads that read them."""
    _, _, _, H, Hkv = problem.shape
    one = slice(batch, batch + 1)
    heads = (kv[:, None] * (H // Hkv) + np.arange(H // Hkv)).ravel()
    bias = problem.bias4
    if bias is not None:
        bias = bias[one] if bias.shape[0] > 1 else bias
        bias = bias[:, heads] if bias.shape[1] > 1 else bias
    do = None if problem.do is None else problem.do[one][:, :, heads]
    q, k, v = problem.q[one][:, :, heads], problem.k[one][:, :, kv], problem.v[one][:, :, kv]
    return replace(problem, q=q, k=k, v=v, do=do, bias=bias)


def _by_key(name: str, actual: Array, truth: F64, allowed: F64, sample: Sample) -> Output:
    """dk, dv ``[1,keys,kv heads,D]`` or dbias ``[1,·,1,keys]`` out of the whole ones."""
    batch = np.array([sample.batch if actual.shape[0] > 1 else 0])
    coords = {"b": batch, "j": sample.keys}
    picked = actual.take(batch, 0)
    if name == "dbias":
        picked = picked.take(sample.keys, 3)
    else:
        picked = picked.take(sample.keys, 1).take(sample.kv_heads, 2)
        coords["hkv"] = sample.kv_heads
    return Output(name, AXES[name], picked, truth, allowed, coords)
