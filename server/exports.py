"""The arrays of a finished run as files that NumPy reads: one as ``.npy``, all as one ``.npz``.

========================  =================================================================
q k v do bias             the inputs, in logical order (``inputs.py``)
o lse attn dq dk dv dbias what the kernel gave, in its shape in memory (``outputs.py``)
NAME.expected             the truth in float64, in the same shape; NaN where it was not judged
NAME.allowed              what each element may be off by
NAME.difference           actual − expected
========================  =================================================================
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np

from server.attention_problem import Array
from server.judged_parts import Subject
from server.outputs import logical, outputs_of
from server.report import Report

JUDGED = ("expected", "allowed")
DERIVED = (*JUDGED, "difference")


def names_of(subject: Subject) -> list[str]:
    """Every array that there is of the run."""
    derived = [f"{name}.{kind}" for name in subject.tensors for kind in DERIVED]
    return [*subject.input_names, *subject.tensors, *derived]


def array_of(subject: Subject, name: str) -> Array:
    """One of :func:`names_of`. Raises KeyError for another name."""
    if name in subject.input_names:
        return subject.arrays[name]
    if name in subject.tensors:
        return subject.tensors[name]
    output, _, kind = name.rpartition(".")
    if output not in subject.tensors or kind not in DERIVED:
        raise KeyError(name)
    if kind in JUDGED:
        return judged(subject, output)[kind]
    with np.errstate(all="ignore"):  # whatever the kernel gave
        found: Array = subject.tensors[output] - judged(subject, output)["expected"]
    return found


def judged(subject: Subject, name: str) -> dict[str, Array]:
    """``expected`` and ``allowed`` of a whole output, in its shape in memory."""
    spec = next(spec for spec in outputs_of(subject.case) if spec.name == name)
    whole = {kind: np.full(spec.shape, np.nan) for kind in JUDGED}
    views = {kind: logical(subject.case, spec, array) for kind, array in whole.items()}
    for part in subject.parts(name):
        output = subject.measured(name, part)
        places = [output.coords.get(a, np.arange(n)) for a, n in zip(
            output.axes, output.actual.shape, strict=True)]  # fmt: skip
        for kind in JUDGED:
            views[kind][np.ix_(*places)] = getattr(output, kind)
    return whole


def npy(array: Array) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.getvalue()


def npy_bytes(subject: Subject, name: str) -> int:
    """What one of :func:`names_of` takes as a file, but for its header."""
    if name in subject.input_names:
        return subject.arrays[name].nbytes
    if name in subject.tensors:
        return subject.tensors[name].nbytes
    return 8 * subject.tensors[name.rpartition(".")[0]].size  # of float64


def npz_bytes(subject: Subject) -> int:
    """What an ``.npz`` of the run takes, but for its headers."""
    derived = [f"{name}.{kind}" for name in subject.tensors for kind in JUDGED]
    names = [*subject.input_names, *subject.tensors, *derived]
    return sum(npy_bytes(subject, name) for name in names)


def write_npz(file: IO[bytes], subject: Subject, report: Report) -> None:
    """Inputs, outputs, ``NAME.expected``, ``NAME.allowed``, and ``report.json`` as its text.

    Uncompressed, as floats hardly shrink; ``numpy.load`` gives the arrays by name and the report
    as bytes. No more than one output's truth is held at a time.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        text = json.dumps(report.to_dict(), indent=2, allow_nan=False)
        archive.writestr("report.json", text)
        for name, array in _members(subject):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def _members(subject: Subject) -> Iterator[tuple[str, Array]]:
    yield from subject.arrays.items()
    yield from subject.tensors.items()
    for name in subject.tensors:
        for kind, array in judged(subject, name).items():
            yield f"{name}.{kind}", array
