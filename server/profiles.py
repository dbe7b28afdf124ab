"""The error of an output along one axis: by row, by key, by channel, and by tile of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from server.attention_problem import F64
from server.verdict import Output

POINTS = 512
"""More places than this along an axis are taken together."""


@dataclass
class Profile:
    """Worst ratio and wrong elements at each place of an axis, over all heads.

    ``at``: the places, in the tensor; all of them, or those that were judged.
    """

    axis: str
    at: npt.NDArray[np.intp]
    tile: int  # 0: the kernel's tiles do not cut this axis
    worst: F64
    wrong: npt.NDArray[np.int64]

    @classmethod
    def of(cls, output: Output, axis: str, tile: int) -> Profile:
        size = output.actual.shape[output.axes.index(axis)]
        at = np.asarray(output.coords.get(axis, np.arange(size)), np.intp)
        return cls(axis, at, tile, np.zeros(size), np.zeros(size, np.int64))

    def add(self, ratio: F64, position: int) -> None:
        """``ratio`` of a part, whose axis at ``position`` is this one."""
        others = tuple(n for n in range(ratio.ndim) if n != position)
        self.worst = np.maximum(self.worst, ratio.max(axis=others))
        self.wrong = self.wrong + (~(ratio <= 1)).sum(axis=others)

    def to_dict(self) -> dict[str, Any]:
        """``step`` places stand behind one number; ``at`` is the first of each, ``tiles`` the same
        by tile (numbered from 0), unless the axis has none."""
        step = -(-len(self.at) // POINTS)
        starts = np.arange(0, len(self.at), step)
        found: dict[str, Any] = {"axis": self.axis, "size": len(self.at), "step": step}
        found |= {"at": self.at[starts].tolist()} | self._taken_together(starts)
        found |= {"tile": self.tile, "tiles": None}
        numbers, starts = np.unique(self.at // self.tile if self.tile else [0], return_index=True)
        if self.tile and len(numbers) <= 2 * POINTS:
            found["tiles"] = {"at": numbers.tolist()} | self._taken_together(starts)
        return found

    def _taken_together(self, starts: npt.NDArray[np.intp]) -> dict[str, Any]:
        worst = np.maximum.reduceat(self.worst, starts)
        return {"worst": worst.tolist(), "wrong": np.add.reduceat(self.wrong, starts).tolist()}
