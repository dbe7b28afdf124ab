"""Mistakes in what is read: the scale, another head, another batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from server.attention_problem import F64, Array, Problem
from server.measure import part_of
from server.mistake import ALL, ROWS, Mistake, Pieces, Place
from server.reference import Block

LOG2E = math.log2(math.e)


def scores(p: Problem) -> Iterator[Mistake]:
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


def heads(place: Place) -> Iterator[Mistake]:
    whole, part, b = place.whole, place.part, place.b
    B, _, _, H, Hkv = whole.shape
    group = H // Hkv
    own_heads = np.arange(group) + place.kv_head * group
    own = own_heads // group
    maps = {
        "key head h mod Hkv instead of h div (H / Hkv)": own_heads % Hkv,
        "key head 0": np.zeros_like(own_heads),
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
    if Hkv < H:
        yield from _heads_that_there_are_not(place, own_heads)
    if H > 1 and (own_heads != 0).any():
        first = np.zeros_like(own_heads)
        q = whole.q[b : b + 1][:, :, first]
        yield Mistake("every head read Q of head 0", ALL, replace(part, q=q))
    if group > 1:
        for g in (0, group - 1):
            says = f"only query head {own_heads[g]} counted, of the {group} that share a key head"
            yield Mistake(says, ("dk", "dv"), part, _only_head(g))
    if B > 1 and b > 0:
        first_batch = part_of(whole, 0, np.array([place.kv_head]))
        yield Mistake("every batch read the first one", ALL, first_batch)
        for name in ("q", "k", "v", "do"):
            if getattr(part, name) is not None:
                says = f"every batch read {'dO' if name == 'do' else name.upper()} of the first one"
                yield Mistake(says, ALL, replace(part, **{name: getattr(first_batch, name)}))


def _heads_that_there_are_not(place: Place, own_heads: Array) -> Iterator[Mistake]:
    """K or V addressed by the query head: past the last key head lies the next row's first."""
    whole, part, b = place.whole, place.part, place.b
    B, _, Tk, _, Hkv = whole.shape
    rows = (b * Tk + np.arange(Tk))[:, None] * Hkv + own_heads
    at = np.minimum(rows, B * Tk * Hkv - 1)  # [Tk, heads]
    own = np.full(len(own_heads), place.kv_head)
    for name in ("k", "v"):
        array = getattr(whole, name)
        kept = {n: getattr(whole, n)[b : b + 1][:, :, own] for n in ("k", "v")}
        read = array.reshape(-1, array.shape[-1])[at][None]
        says = f"query head h read head h of {name.upper()}, which has {Hkv} heads"
        yield Mistake(says, ROWS, replace(part, **{**kept, name: read}))


def _only_head(g: int) -> Pieces:
    def pieces(block: Block) -> dict[str, F64]:
        factor = 1.0 if block.h == g else 0.0
        return {name: piece * factor for name, piece in block.outputs().items()}

    return pieces
