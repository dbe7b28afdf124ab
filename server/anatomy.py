"""What is wrong with an output, over all of it: which heads, how far, where along each axis.

One pass over the parts that were judged, a key head at a time, so that memory holds one of them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from server.attention_problem import F64
from server.judged_parts import Subject, heads_of
from server.outputs import AXES
from server.profiles import Profile
from server.report import jsonable
from server.ulp import Histogram, ulp_distance
from server.verdict import Output, ratios

WORST = 10
PLANE = ("i", "j", "d")


@dataclass(frozen=True, order=True)
class Element:
    """One of the worst; the order is that of badness, NaN before inf before numbers."""

    badness: tuple[bool, float]
    index: tuple[int, ...]
    actual: float
    expected: float
    allowed: float
    ulp: float

    def to_dict(self, axes: tuple[str, ...], tile: dict[str, int]) -> dict[str, Any]:
        index = dict(zip(axes, self.index, strict=True))
        return {
            "index": index,
            "tile": {axis: index[axis] // size for axis, size in tile.items() if axis in index},
            "actual": self.actual,
            "expected": self.expected,
            "allowed": self.allowed,
            "ratio": self.badness[1],
            "ulp": self.ulp,
        }


def anatomy(subject: Subject, name: str) -> dict[str, Any]:
    """The output ``name`` taken apart, ready for JSON (numbers that it lacks are words).

    ``heads``: worst ratio and wrong elements of each [batch][head], None where not judged ·
    ``ulps``: the :class:`Histogram` · ``worst``: the :data:`WORST` worst elements ·
    ``profiles``: the same along each axis of a head, see :class:`Profile`.
    """
    axes, tile = AXES[name], dict(subject.tile)
    B, H = heads_of(subject.case, name)
    worst_of: list[list[float | None]] = [[None] * H for _ in range(B)]
    wrong_of: list[list[int | None]] = [[None] * H for _ in range(B)]
    histogram, worst = Histogram(), list[Element]()
    profiles: dict[str, Profile] = {}
    elements = wrong = 0
    for part in subject.parts(name):
        output = subject.measured(name, part)
        ratio = ratios(output.actual, output.expected, output.allowed)
        distance = ulp_distance(output.actual, output.expected)
        histogram.add(distance)
        worst = heapq.nlargest(WORST, worst + _worst_of(output, ratio, distance))
        _by_head(output, ratio, worst_of, wrong_of)
        for axis in PLANE:
            if axis in axes and output.actual.shape[axes.index(axis)] > 1:
                if axis not in profiles:
                    profiles[axis] = Profile.of(output, axis, tile.get(axis, 0))
                profiles[axis].add(ratio, axes.index(axis))
        elements += ratio.size
        wrong += int((~(ratio <= 1)).sum())
    sampled = subject.sample() is not None
    found = {
        "output": name,
        "axes": list(axes),
        "tile": {axis: size for axis, size in tile.items() if axis in axes},
        "elements": elements,
        "wrong": wrong,
        "sampled": sampled,
        "heads": {"worst": worst_of, "wrong": wrong_of},
        "ulps": histogram.to_dict(),
        "worst": [element.to_dict(axes, tile) for element in worst],
        "profiles": [profile.to_dict() for profile in profiles.values()],
    }
    plain: dict[str, Any] = jsonable(found)
    return plain


def _worst_of(output: Output, ratio: F64, distance: F64) -> list[Element]:
    """The worst elements of a part; of equals, those that come first."""
    flat = ratio.ravel()
    if flat.size > WORST:
        limit = np.partition(flat, -WORST)[-WORST]
        at = np.concatenate([np.flatnonzero(flat > limit), np.flatnonzero(flat == limit)[:WORST]])
    else:
        at = np.arange(flat.size)
    nan = np.isnan(output.actual.ravel()[at])
    return [
        Element(
            (bool(is_nan), float(flat[n])),
            tuple(output.place(int(n)).values()),
            float(output.actual.flat[n]),
            float(output.expected.flat[n]),
            float(output.allowed.flat[n]),
            float(distance.flat[n]),
        )
        for n, is_nan in zip(at, nan, strict=True)
    ]


def _by_head(
    output: Output,
    ratio: F64,
    worst_of: list[list[float | None]],
    wrong_of: list[list[int | None]],
) -> None:
    axes = output.axes
    head = next(n for n, axis in enumerate(axes) if axis in ("h", "hkv"))
    others = tuple(n for n in range(len(axes)) if n not in (0, head))
    worst, wrong = ratio.max(axis=others), (~(ratio <= 1)).sum(axis=others)
    batches = output.coords.get("b", np.arange(ratio.shape[0]))
    heads = output.coords.get(axes[head], np.arange(ratio.shape[head]))
    for y, b in enumerate(batches):
        for x, h in enumerate(heads):
            worst_of[int(b)][int(h)] = float(worst[y, x])
            wrong_of[int(b)][int(h)] = int(wrong[y, x])
