"""What a case's kernels write: names, dtypes, shapes in memory, bytes, and how to read them.

========  =====================  ============================================================
o, dq     as the layout          ``[B,Tq,H,D]`` for bthd and packed, ``[B,H,Tq,D]`` for bhtd
dk, dv    as the layout          ``[B,Tk,Hkv,D]``, ``[B,Hkv,Tk,D]``
lse       float32                ``[B,H,Tq]``, natural log
attn      float32                ``[B,H,Tq,Tk]``
dbias     float32                the shape of the bias
========  =====================  ============================================================

o, dq, dk and dv have the case's dtype. dbias stays float32 with f16 storage, because it adds up
over heads and batches, and neighbouring f16 elements of one word belong to different tiles.

Of each output the page uploads three tensors: NAME (pass 1), NAME.repeat (pass 2, its buffer filled
with other poison before, see poison.py) and NAME.guards (u32 ``[2 passes, 2 sides, 64 words]``).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from server.cases import Case

GUARD_WORDS = 64
"""Words in front of and behind each output: 256 bytes, the largest offset alignment of WebGPU."""

DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype("<f4"),
    "f16": np.dtype("<f2"),
    "u32": np.dtype("<u4"),
}

AXES = {
    "o": ("b", "i", "h", "d"),
    "dq": ("b", "i", "h", "d"),
    "dk": ("b", "j", "hkv", "d"),
    "dv": ("b", "j", "hkv", "d"),
    "lse": ("b", "h", "i"),
    "attn": ("b", "h", "i", "j"),
    "dbias": ("b", "h", "i", "j"),
}
"""Axes in logical order, the order in which the reference returns them (dbias: always four)."""


@dataclass(frozen=True)
class OutputSpec:
    """A tensor that the page uploads: flat little-endian bytes in the order of ``shape``."""

    name: str
    dtype: str  # f32, f16 or u32
    shape: tuple[int, ...]

    @property
    def numpy(self) -> np.dtype[Any]:
        return DTYPES[self.dtype]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.numpy.itemsize


def outputs_of(case: Case, names: Collection[str] | None = None) -> list[OutputSpec]:
    """The outputs that the case is judged by, in the order of the report.

    ``names``: only these, for a kernel that does not compute all of them.
    """
    B, Tq, Tk, H, Hkv, D = case.B, case.Tq, case.Tk, case.H, case.Hkv, case.D
    bhtd = case.layout == "bhtd"
    rows = (B, H, Tq, D) if bhtd else (B, Tq, H, D)
    keys = (B, Hkv, Tk, D) if bhtd else (B, Tk, Hkv, D)
    found = [OutputSpec("o", case.dtype, rows), OutputSpec("lse", "f32", (B, H, Tq))]
    if case.attn:
        found.append(OutputSpec("attn", "f32", (B, H, Tq, Tk)))
    if case.op == "backward":
        found.append(OutputSpec("dq", case.dtype, rows))
        found += [OutputSpec(name, case.dtype, keys) for name in ("dk", "dv")]
        if case.bias != "none":
            found.append(OutputSpec("dbias", "f32", case.shapes()["bias"]))
    return [spec for spec in found if names is None or spec.name in names]


def want(case: Case, names: Collection[str] | None = None) -> list[OutputSpec]:
    """Every tensor that the page has to upload: each output, its repeat and its guards."""
    found = []
    for spec in outputs_of(case, names):
        guards = OutputSpec(f"{spec.name}.guards", "u32", (2, 2, GUARD_WORDS))
        found += [spec, OutputSpec(f"{spec.name}.repeat", spec.dtype, spec.shape), guards]
    return found


def logical(case: Case, spec: OutputSpec, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An uploaded output as a view with the axes of :data:`AXES`."""
    shaped = array.reshape(spec.shape)
    if case.layout == "bhtd" and spec.name in ("o", "dq", "dk", "dv"):
        return shaped.swapaxes(1, 2)
    return shaped.reshape((1,) * (len(AXES[spec.name]) - shaped.ndim) + shaped.shape)


def predicted_work(case: Case) -> float:
    """Floating-point operations of one pass, masked tiles counted too: the measure of deadlines.

    Forward: S and O, 4·D a score (S again for attn); backward recomputes S in both kernels and
    adds dP twice, dQ, dK and dV: 14·D.

    >>> predicted_work(Case.parse("forward:T=1024,H=2,D=64")) / 1e9
    0.536870912
    """
    products = 2 + case.attn + (7 if case.op == "backward" else 0)
    return 2.0 * products * case.D * case.B * case.H * case.Tq * case.Tk
