"""One run: a case on its way from a request to a report."""

from __future__ import annotations

import sys
from asyncio import Task as Asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from server import own_kernel, trace_buffer
from server.cases import Case
from server.errors import ShapeError
from server.outputs import DTYPES, OutputSpec
from server.poison import new_poison
from server.report import Done, Report
from server.task import SENT, Task

Arrays = dict[str, np.ndarray]

SLOWEST_UPLOAD = 10e6  # bytes a second that a page is expected to reach: a phone on wireless


@dataclass(eq=False)
class Run(Task[Report]):
    """``deadline_s`` counts from being sent; ``shaders`` are kept for a while."""

    case: Case
    kappa: float
    want: dict[str, OutputSpec]
    inputs: Arrays | None = None  # the caller's own, in canonical order
    own: dict[str, Any] | None = None  # a kernel that is not ours: its manifest and its texts
    dropped: tuple[str, ...] = ()  # edited files whose texts are not kept any more
    dropped_own: tuple[str, ...] = ()  # those of the kernel that is not ours
    trace: dict[str, int] | None = None  # whose state is to be told after each key tile
    tuned: dict[str, Any] | None = None  # tiles to try first; None: those kept for the adapter
    timing: bool = False  # the check before a benchmark, which needs the inputs again
    sampled_above: int | None = None  # of longer sequences only some rows and keys are judged
    asker: str | None = None  # the page that follows it, whichever does it
    awaiting: set[str] = field(default_factory=set)  # posted inputs that are not here yet
    poison: tuple[int, int] = field(default_factory=new_poison)
    uploads: Arrays = field(default_factory=dict)  # flat, as they came
    receiving: dict[str, Asyncio[bytearray]] = field(default_factory=dict)  # under way
    tensors: Mapping[str, np.ndarray] = field(
        default_factory=dict
    )  # shaped, once there is a report
    told: np.ndarray | None = None  # what its kernels told of their state (trace_buffer.py)
    done: Done | None = None  # what the page told when it had finished
    seeded: bool = field(init=False)  # the inputs are those of the case's seed

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seeded = self.inputs is None

    @property
    def title(self) -> str:
        return str(self.case)

    @property
    def source(self) -> str | None:
        """The file of a kernel that is not ours."""
        return None if self.own is None else own_kernel.source(self.own)

    @property
    def own_files(self) -> Mapping[str, str]:
        """The texts of a kernel that is not ours, by name."""
        return {} if self.own is None else self.own["files"]

    @property
    def overdue_s(self) -> float:
        # The page counts its deadline up to the last kernel; the results travel after that.
        upload_s = sum(spec.bytes for spec in self.want.values()) / SLOWEST_UPLOAD
        return super().overdue_s - (upload_s if self.state == SENT else 0.0)

    @property
    def late(self) -> str:
        return (
            f"the page sent no result within {self.deadline_s:g} s{self.reached}; "
            "a larger --timeout allows more, if the kernel does end"
        )

    @property
    def kept_bytes(self) -> int:
        arrays = [*self.tensors.values(), *(self.inputs or {}).values()]
        told = 0 if self.told is None else self.told.nbytes
        return told + sum(array.nbytes for array in arrays)

    @property
    def text_bytes(self) -> int:
        """Memory that its texts take; runs of one request share them, and each counts them."""
        texts = [*self.shaders.values(), *self.own_files.values()]
        return sum(map(sys.getsizeof, texts))

    def drop_arrays(self) -> None:
        """Its report stays."""
        self.tensors, self.inputs, self.told = {}, None, None

    def drop_texts(self) -> None:
        """Their names stay: what runs the same again has to be refused by them."""
        self.dropped, self.dropped_own = tuple(self.shaders), tuple(self.own_files)
        self.shaders, self.own = {}, None

    def job(self) -> dict[str, Any]:
        """The SSE event ``job``."""
        return {
            "run": self.id,
            "case": str(self.case),
            "spec": self.case.to_job(),
            "kernel": self.case.kernel,
            "inputs": "seed" if self.inputs is None else "posted",
            "want": [
                {"name": s.name, "dtype": s.dtype, "shape": list(s.shape), "bytes": s.bytes}
                for s in self.want.values()
            ],
            "poison": list(self.poison),
            "deadline_ms": round(self.deadline_s * 1000),
            "shaders": self.shaders,
            "own": self.own,
            "trace": self.trace,
            "tuned": self.tuned,
            "timing": self.timing,
        }

    def event(self) -> tuple[str, dict[str, Any]]:
        return "job", self.job()

    def take(self, name: str, data: bytearray) -> None:
        """Keeps an uploaded tensor as a flat array of its type."""
        self.uploads[name] = np.frombuffer(data, self.want[name].numpy)

    def settle(self, report: Report) -> None:
        """The report is there: keep the outputs in their shapes, and the caller's inputs.

        Whatever is still on its way comes too late.
        """
        for upload in self.receiving.values():
            upload.cancel()
        self.receiving = {}
        self.told = self.uploads.pop(trace_buffer.TENSOR, None)
        self.tensors = {
            name: array.reshape(self.want[name].shape)
            for name, array in self.uploads.items()
            if "." not in name
        }
        self.uploads = {}
        super().settle(report)


def own_inputs(case: Case, inputs: Arrays) -> Arrays:
    """The caller's arrays as they travel: little-endian, C order, in the case's type.

    Raises ShapeError when an array is missing, unknown, or has another shape than the case.
    """
    shapes = {name: shape for name, shape in case.shapes().items() if name != "attn"}
    if inputs.keys() != shapes.keys():
        raise ShapeError(f"{case} takes the arrays {sorted(shapes)}, not {sorted(inputs)}")
    arrays = {}
    for name, shape in shapes.items():
        if inputs[name].shape != shape:
            raise ShapeError(f"{name} has the shape {inputs[name].shape}, {case} needs {shape}")
        arrays[name] = np.array(inputs[name], dtype=DTYPES[case.dtype], order="C")
    return arrays
