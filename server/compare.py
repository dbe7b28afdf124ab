"""Two runs of one case, output by output: where they differ, whatever the truth is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from server.cases import Case
from server.outputs import AXES, OutputSpec, outputs_of
from server.report import jsonable
from server.ulp import ulp_distance
from server.verdict import LSE_EMPTY

Array = npt.NDArray[Any]

AT_ONCE = 1 << 20
"""Elements: float64 copies of a whole output would need eight times its memory."""


@dataclass(frozen=True)
class Difference:
    """Of one output. ``differ`` counts elements whose bits are not the same.

    ``max_abs`` and ``max_ulp`` are over the elements that are finite in both; ``apart`` counts
    those that are NaN or infinite in one alone. The rest is of the element that is furthest off by
    ``max_abs``: its index along AXES whatever the layout, and both values; None if none differs.
    """

    total: int
    differ: int
    max_abs: float
    max_ulp: float
    apart: int
    index: tuple[int, ...] | None
    a: float | None
    b: float | None

    @property
    def bit_equal(self) -> bool:
        return self.differ == 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "differ": self.differ,
            "bit_equal": self.bit_equal,
            "max_abs": jsonable(self.max_abs),
            "max_ulp": jsonable(self.max_ulp),
            "apart": self.apart,
            "index": None if self.index is None else list(self.index),
            "a": jsonable(self.a),
            "b": jsonable(self.b),
        }


def same_work(a: Case, b: Case) -> str:
    """Why two cases cannot be compared; "" if they are one case but for the kernel."""
    if a.replace(kernel="auto") == b.replace(kernel="auto"):
        return ""
    return f"A ran {a}, B ran {b}; only the kernel may differ"


def differences(
    case: Case, a: Mapping[str, Array], b: Mapping[str, Array]
) -> dict[str, Difference]:
    """Of every output that both have, in the order of the report.

    A row that sees no key has any log-sum-exp up to LSE_EMPTY: two such values are one.
    """
    specs = [spec for spec in outputs_of(case) if spec.name in a and spec.name in b]
    return {spec.name: _difference(case, spec, a[spec.name], b[spec.name]) for spec in specs}


def _difference(case: Case, spec: OutputSpec, a: Array, b: Array) -> Difference:
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    differ = apart = 0
    max_abs = max_ulp = 0.0
    worst: int | None = None
    for start in range(0, flat_a.size, AT_ONCE):
        x, y = flat_a[start : start + AT_ONCE], flat_b[start : start + AT_ONCE]
        if spec.name == "lse":
            x, y = (np.where(one <= LSE_EMPTY, -np.inf, one).astype(one.dtype) for one in (x, y))
        bits = f"<u{x.dtype.itemsize}"
        changed = x.view(bits) != y.view(bits)
        if not changed.any():
            continue
        at = np.flatnonzero(changed)
        differ += at.size
        wide_x, wide_y = x[at].astype(np.float64), y[at].astype(np.float64)
        finite = np.isfinite(wide_x) & np.isfinite(wide_y)
        both_nan = np.isnan(wide_x) & np.isnan(wide_y)
        apart += int((~finite & ~both_nan).sum())
        if not finite.any():
            continue
        off = np.abs(wide_x[finite] - wide_y[finite])
        steps = ulp_distance(x[at][finite], wide_y[finite])
        max_ulp = max(max_ulp, float(steps.max()))
        if worst is None or off.max() > max_abs:
            max_abs = float(off.max())
            worst = start + int(at[finite][int(off.argmax())])
    values = (None, None) if worst is None else (float(flat_a[worst]), float(flat_b[worst]))
    index = None if worst is None else _logical_index(case, spec, worst)
    return Difference(flat_a.size, differ, max_abs, max_ulp, apart, index, *values)


def _logical_index(case: Case, spec: OutputSpec, flat: int) -> tuple[int, ...]:
    stored = [int(n) for n in np.unravel_index(flat, spec.shape)]
    if case.layout == "bhtd" and spec.name in ("o", "dq", "dk", "dv"):
        stored[1], stored[2] = stored[2], stored[1]
    return (0,) * (len(AXES[spec.name]) - len(stored)) + tuple(stored)
