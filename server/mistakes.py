"""Known mistakes of attention kernels, each as another result that can be computed and compared.

A mistake is another problem (another mask, scale, head), or the right problem whose blocks give
other pieces (a rescale left out, Δ forgotten). Both go through ``reference.walk``: there is no
second copy of the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from server.attention_problem import F64, Array, Problem
from server.measure import part_of
from server.reference import Block

ROWS = ("o", "lse", "attn", "dq")
FORWARD = ("o", "lse", "attn")
GRADIENTS = ("dq", "dk", "dv")
ALL = (*FORWARD, *GRADIENTS)

LOG2E = math.log2(math.e)

Pieces = Callable[[Block], dict[str, F64]]


@dataclass(frozen=True)
class Mistake:
    """``says`` completes "as if …"; ``outputs``: those that it can explain."""

    says: str
    outputs: tuple[str, ...]
    problem: Problem
    pieces: Pieces = Block.outputs


@dataclass(frozen=True)
class Place:
    """One batch and key head of a whole problem, and the kernel's tiles ``{"i": Br, "j": Bc}``."""

    whole: Problem
    b: int
    kv_head: int
    tile: dict[str, int]

    @property
    def part(self) -> Problem:
        return part_of(self.whole, self.b, np.array([self.kv_head]))


def mistakes(place: Place) -> Iterator[Mistake]:
    """Every mistake that could change something in this problem."""
    yield from _masks(place.part, place.tile)
    yield from _scores(place.part)
    yield from _tiles(place.part, place.tile)
    yield from _heads(place)
    yield from _softmax(place.part, place.tile)
    if place.part.do is not None:
        yield from _gradients(place.part)


def _masks(p: Problem, tile: dict[str, int]) -> Iterator[Mistake]:
    _, Tq, Tk, _, _ = p.shape
    yield Mistake("every row missed the last key that it sees", ALL, replace(p, drop_last_key=True))
    if p.causal:
        yield Mistake("every row saw one key too many", ALL, replace(p, offset=p.offset + 1))
        yield Mistake("the causal mask were left out", ALL, replace(p, causal=False))
        other = 0 if p.offset else Tk - Tq
        if other != p.offset:
            corners = ("top-left", "bottom-right") if other == 0 else ("bottom-right", "top-left")
            says = f"the mask were aligned {corners[0]} instead of {corners[1]}"
            yield Mistake(says, ALL, replace(p, offset=other))
        rows = np.arange(Tq)
        if size := tile.get("i", 0):
            first = rows // size * size
            yield Mistake(
                "the rows of a query tile saw no more keys than the first of them",
                ALL,
                _hidden(p, np.arange(Tk) > (first + p.offset)[:, None]),
            )
        if size := tile.get("j", 0):
            ends = ((rows + p.offset) // size + 1) * size
            seen = replace(p, causal=False)
            yield Mistake(
                "no mask were applied inside of the key tile on the diagonal",
                ALL,
                _hidden(seen, np.arange(Tk) >= np.maximum(ends, 0)[:, None]),
            )
    else:
        yield Mistake("a causal mask were applied", ALL, replace(p, causal=True))
    if p.window != (-1, -1):
        yield Mistake("the window were left out", ALL, replace(p, window=(-1, -1)))
        left, right = p.window
        for by, word in ((1, "one key wider"), (-1, "one key narrower")):
            sides = (left + by if left >= 0 else -1, right + by if right >= 0 else -1)
            if min(sides) >= -1 and (left < 1 or sides[0] >= 0) and (right < 1 or sides[1] >= 0):
                yield Mistake(f"the window were {word}", ALL, replace(p, window=sides))


def _scores(p: Problem) -> Iterator[Mistake]:
    for factor, says in (
        (1 / p.scale, "the scale of the scores were left out"),
        (p.scale, "the scale of the scores were applied twice"),
        (LOG2E, "scores were in base 2 and the exponential in base e"),
        (1 / LOG2E, "scores were in base e and the exponential in base 2"),
    ):
        if factor != 1:
            yield Mistake(says, ALL, replace(p, scale=p.scale * factor))
    if p.softcap:
        yield Mistake("the softcap were left out", ALL, replace(p, softcap=0.0))
    if p.bias is not None:
        yield Mistake("the bias were left out", ALL, replace(p, bias=None))


def _tiles(p: Problem, tile: dict[str, int]) -> Iterator[Mistake]:
    _, Tq, Tk, _, _ = p.shape
    j, size = np.arange(Tk), tile.get("j", 0)
    if 0 < size < Tk:
        last = (Tk - 1) // size * size
        partial = ", partial" if Tk % size else ""
        for hidden, says in (
            (j < size, f"the first key tile (j < {size}) were skipped"),
            (j >= last, f"the last{partial} key tile (j ≥ {last}) were skipped"),
            (j >= size, f"only the first key tile (j < {size}) counted"),
        ):
            yield Mistake(says, ALL, _hidden(p, np.broadcast_to(hidden, (Tq, Tk))))
    i, size = np.arange(Tq)[:, None], tile.get("i", 0)
    if 0 < size < Tq:
        last = (Tq - 1) // size * size
        partial = ", partial" if Tq % size else ""
        for hidden_rows, says in (
            (i < size, f"the first query tile (i < {size}) were skipped"),
            (i >= last, f"the last{partial} query tile (i ≥ {last}) were skipped"),
        ):
            whole = np.broadcast_to(hidden_rows, (Tq, Tk))
            yield Mistake(says, ("dk", "dv"), p, _without(whole))


def _heads(place: Place) -> Iterator[Mistake]:
    whole, part, b = place.whole, place.part, place.b
    B, _, _, H, Hkv = whole.shape
    group = H // Hkv
    heads = np.arange(group) + place.kv_head * group
    own = heads // group
    maps = {
        "key head h mod Hkv instead of h div (H / Hkv)": heads % Hkv,
        "key head 0": np.zeros_like(heads),
        "the next key head": (own + 1) % Hkv,
    }
    for says, wanted in maps.items():
        if (wanted == own).all():
            continue
        k, v = (array[b : b + 1][:, :, wanted] for array in (whole.k, whole.v))
        own_k, own_v = (array[b : b + 1][:, :, own] for array in (whole.k, whole.v))
        yield Mistake(f"query head h read K and V of {says}", ROWS, replace(part, k=k, v=v))
        yield Mistake(f"query head h read K of {says}", ROWS, replace(part, k=k, v=own_v))
        yield Mistake(f"query head h read V of {says}", ROWS, replace(part, k=own_k, v=v))
    if H > 1 and (heads != 0).any():
        first = np.zeros_like(heads)
        q = whole.q[b : b + 1][:, :, first]
        yield Mistake("every head read Q of head 0", ALL, replace(part, q=q))
    if group > 1:
        for g in (0, group - 1):
            says = f"only query head {heads[g]} of the {group} that read a key head counted"
            yield Mistake(says, ("dk", "dv"), part, _only_head(g))
    if B > 1 and b > 0:
        first_batch = part_of(whole, 0, np.array([place.kv_head]))
        yield Mistake("every batch read the first one", ALL, first_batch)
        for name in ("q", "k", "v", "do"):
            if getattr(part, name) is not None:
                says = f"every batch read {'dO' if name == 'do' else name.upper()} of the first one"
                yield Mistake(says, ALL, replace(part, **{name: getattr(first_batch, name)}))


def _softmax(p: Problem, tile: dict[str, int]) -> Iterator[Mistake]:
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

    def o_kept(block: Block) -> dict[str, F64]:
        return {**block.outputs(), "o": (block.p * grown(block)) @ block.v}

    def sum_kept(block: Block) -> dict[str, F64]:
        total = (block.p * grown(block)).sum(axis=1)
        return {
            **block.outputs(),
            "o": block.o / np.where(total > 0, total, 1.0)[:, None],
            "lse": block.lse + np.log(np.where(total > 0, total, 1.0)),
        }

    def both_kept(block: Block) -> dict[str, F64]:
        weights = block.p * grown(block)
        total = np.where(block.n_keys > 0, weights.sum(axis=1), 1.0)
        o = (weights @ block.v) / total[:, None]
        return {**block.outputs(), "o": o, "lse": block.lse + np.log(total)}

    for says, pieces in (
        ("O were not rescaled (alpha) when the running maximum grew", o_kept),
        ("the running sum l were not rescaled (alpha) when the maximum grew", sum_kept),
        ("neither O nor l were rescaled (alpha) when the running maximum grew", both_kept),
    ):
        yield Mistake(says, ("o", "lse"), p, pieces)


def _gradients(p: Problem) -> Iterator[Mistake]:
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
    ):  # fmt: skip
        yield Mistake(says, GRADIENTS, p, with_ds(change))

    def dv_of_ds(block: Block) -> dict[str, F64]:
        assert block.ds is not None
        assert block.do is not None
        return {**block.outputs(), "dv": block.ds.T @ block.do}

    def dk_of_p(block: Block) -> dict[str, F64]:
        return {**block.outputs(), "dk": block.scale * (block.p.T @ block.q)}

    yield Mistake("dV were made of dS instead of P", ("dv",), p, dv_of_ds)
    yield Mistake("dK were made of P instead of dS", ("dk",), p, dk_of_p)


def _hidden(p: Problem, hidden: Array) -> Problem:
    """The problem with some keys taken from some rows, ``hidden`` [Tq,Tk]."""
    before = 0.0 if p.bias is None else p.bias
    return replace(p, bias=np.where(hidden, -np.inf, before))


def _without(rows: Array) -> Pieces:
    """Keys get nothing from the rows of which ``rows`` [Tq,Tk] is true."""

    def pieces(block: Block) -> dict[str, F64]:
        keep = ~rows[block.at, 0][:, None]
        cleared = replace(block, p=block.p * keep, ds=None if block.ds is None else block.ds * keep)
        return cleared.outputs()

    return pieces


def _only_head(g: int) -> Pieces:
    def pieces(block: Block) -> dict[str, F64]:
        factor = 1.0 if block.h == g else 0.0
        return {name: piece * factor for name, piece in block.outputs().items()}

    return pieces
