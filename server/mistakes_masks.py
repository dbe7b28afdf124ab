"""Mistakes in which keys a row sees: masks, and tiles that are skipped or not masked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from server.attention_problem import F64, Array, Problem
from server.mistake import ALL, ROWS, Mistake, Pieces, hidden_from
from server.reference import Block

USUAL = (16, 32, 64)


def masks(p: Problem, tile: dict[str, int]) -> Iterator[Mistake]:
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
                hidden_from(p, np.arange(Tk) > (first + p.offset)[:, None]),
            )
        if size := tile.get("j", 0):
            yield from _unmasked(p, tile.get("i", 0), size)
            ends = ((rows + p.offset) // size + 1) * size
            seen = replace(p, causal=False)
            yield Mistake(
                "no mask were applied inside of the key tile on the diagonal",
                ALL,
                hidden_from(seen, np.arange(Tk) >= np.maximum(ends, 0)[:, None]),
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


def _unmasked(p: Problem, height: int, width: int) -> Iterator[Mistake]:
    """Key tiles that the diagonal crosses, taken for tiles that every row sees."""
    _, Tq, Tk, _, _ = p.shape
    if not height:
        return
    j, rows = np.arange(Tk), np.arange(Tq)
    first = rows // height * height
    crossed = j // width == np.maximum(first + p.offset + 1, 0)[:, None] // width
    beyond = j > (rows + p.offset)[:, None]
    yield Mistake(
        "the first key tile on the diagonal were taken for an inner one, without a mask",
        ALL,
        hidden_from(replace(p, causal=False), beyond & ~crossed),
    )
    last = np.minimum(first + height, Tq) - 1 + p.offset
    ends = (np.maximum(last, -1) // width + 1) * width
    yield Mistake(
        "no mask were applied inside of the tiles on the diagonal",
        ROWS,
        hidden_from(replace(p, causal=False), j >= ends[:, None]),
    )


def tiles(p: Problem, tile: dict[str, int]) -> Iterator[Mistake]:
    """Tiles that are skipped. The kernels of a backward cut differently and tell one tile, so
    other usual sizes are tried as well.
    """
    _, Tq, Tk, _, _ = p.shape
    j, i = np.arange(Tk), np.arange(Tq)[:, None]
    for size in dict.fromkeys((tile.get("j", 0), *USUAL)):
        if not 0 < size < Tk:
            continue
        last = (Tk - 1) // size * size
        partial = ", partial" if Tk % size else ""
        for hidden, says in (
            (j < size, f"the first key tile (j < {size}) were skipped"),
            (j >= last, f"the last{partial} key tile (j ≥ {last}) were skipped"),
            (j >= size, f"only the first key tile (j < {size}) counted"),
        ):
            yield Mistake(says, ALL, hidden_from(p, np.broadcast_to(hidden, (Tq, Tk))))
    for size in dict.fromkeys((tile.get("i", 0), *USUAL)):
        if not 0 < size < Tq:
            continue
        last = (Tq - 1) // size * size
        partial = ", partial" if Tq % size else ""
        for hidden_rows, says in (
            (i < size, f"the first query tile (i < {size}) were skipped"),
            (i >= last, f"the last{partial} query tile (i ≥ {last}) were skipped"),
        ):
            whole = np.broadcast_to(hidden_rows, (Tq, Tk))
            yield Mistake(says, ("dk", "dv"), p, _without(whole))


def _without(rows: Array) -> Pieces:
    """Keys get nothing from the rows of which ``rows`` [Tq,Tk] is true."""

    def pieces(block: Block) -> dict[str, F64]:
        keep = ~rows[block.at, 0][:, None]
        cleared = replace(block, p=block.p * keep, ds=None if block.ds is None else block.ds * keep)
        return cleared.outputs()

    return pieces
