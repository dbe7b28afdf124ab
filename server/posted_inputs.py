"""The caller's own arrays on their way to a run that waits for them.

A client asks for the run with ``posted``, then sends each array as raw bytes; with the last one the
run is queued. So a Harness may be on another machine than its server.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from server.cases import Case
from server.outputs import DTYPES, OutputSpec
from server.problems import Problem


def specs(case: Case) -> dict[str, OutputSpec]:
    """The arrays that a case takes, in canonical order, in its type."""
    shapes = case.shapes()
    return {
        name: OutputSpec(name, case.dtype, shape)
        for name, shape in shapes.items()
        if name != "attn"
    }


def size_bytes(case: Case) -> int:
    """Of all of them."""
    return sum(math.prod(spec.shape) * spec.numpy.itemsize for spec in specs(case).values())


def read(spec: OutputSpec, data: bytearray) -> npt.NDArray[Any]:
    """The array in its shape. Problem 422 for numbers that a kernel need not understand.

    WebGPU may assume that there is no NaN or infinity; only a bias may mask with -inf.
    """
    array = np.frombuffer(data, DTYPES[spec.dtype]).reshape(spec.shape)
    fine = np.isfinite(array)
    if spec.name == "bias":
        fine |= np.isneginf(array)
    if not fine.all():
        at = tuple(int(n) for n in np.argwhere(~fine)[0])
        raise Problem(422, "not-finite", f"{spec.name}{list(at)} is {array[at]}")
    return array
