"""Every known mistake that could change something in a problem, the plainest first."""

from __future__ import annotations

from collections.abc import Iterator

from server.mistake import Mistake, Place
from server.mistakes_backward import gradients, in_the_backward
from server.mistakes_masks import masks, tiles
from server.mistakes_reads import heads, scores
from server.mistakes_softmax import softmax


def mistakes(place: Place) -> Iterator[Mistake]:
    shared = [
        *masks(place.part, place.tile),
        *scores(place.part),
        *tiles(place.part, place.tile),
        *heads(place),
    ]
    yield from shared
    yield from softmax(place.part, place.tile)
    if place.part.do is not None:
        yield from gradients(place.part)
        # What only leaves something out of dk and dv is the same with a right forward.
        anew = (m for m in shared if m.outputs != ("dk", "dv"))
        yield from (in_the_backward(mistake) for mistake in anew)
