"""A trace as JSON, as safetensors of one step, and as one ``.npz`` with everything."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from server.attention_problem import Array
from server.cases import Case
from server.report import Report, jsonable
from server.trace import FORWARD, Quantity, Step, Trace
from server.trace_reference import BY_ROW
from server.trace_words import mark, sentence

NONE = 2**32 - 1
MOST_VALUES = 5000
"""Values of dbg() that the JSON holds; the files have all."""


def to_dict(trace: Trace, case: Case, report: Report) -> dict[str, Any]:
    """What ``GET /api/runs/{run}/trace`` answers; numbers that JSON lacks are strings, and
    null is what was not told. ``report``: the verdict on the run that was traced.
    """
    told = trace.told
    departure = trace.departure
    found: dict[str, Any] = {
        "case": str(case),
        "kernel": report.kernel,
        "traced": list(trace.traced),
        "shader_sha256": report.shader_sha256,
        "kappa": report.kappa,
        "b": told.b,
        "h": told.h,
        "rows": list(told.rows),
        "keys": list(told.keys),
        "told": told.wanted,
        "lost": told.lost,
        "room": told.capacity,
        "left_out": None if trace.left_out is None else list(trace.left_out),
        "sentence": sentence(trace, float(case.scale_f32), report),
        "mark": mark(trace),
        "failed": report.status == "fail",
        "departure": None,
        "steps": [_step(step) for step in trace.steps],
        "values": {
            "count": len(trace.values),
            "shown": [
                [v.tag, v.workgroup, v.invocation, v.component, v.value]
                for v in trace.values[:MOST_VALUES]
            ],
        },
    }
    if departure is not None:
        found["departure"] = {
            "step": departure.step,
            "quantity": departure.quantity,
            "rows": departure.rows,
            "row": departure.row,
            "column": departure.column,
            "actual": departure.actual,
            "expected": departure.expected,
            "ratio": departure.ratio,
        }
    plain: dict[str, Any] = jsonable(found)
    return plain


def _step(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "title": step.title,
        "number": step.number if step.kind == FORWARD else None,
        "keys": step.keys,
        "rows": {
            name: {
                "actual": _told(quantity),
                "expected": quantity.expected.tolist(),
                "ratio": quantity.ratio.tolist(),
            }
            for name, quantity in step.quantities.items()
            if name in BY_ROW
        },
        "quantities": {
            name: {
                "worst": quantity.worst,
                "bad": int((quantity.ratio > 1).sum()),
                "told": int(quantity.told.sum()),
                "unknown": quantity.unknown,
                "total": quantity.ratio.size,
            }
            for name, quantity in step.quantities.items()
        },
    }


def _told(quantity: Quantity) -> list[float | None]:
    """None where nothing was told, which a NaN that was told is not."""
    pairs = zip(quantity.actual.tolist(), quantity.told.tolist(), strict=True)
    return [value if told else None for value, told in pairs]


def planes(step: Step) -> dict[str, Array]:
    """The matrices of a step: NAME.actual, .expected, .allowed and .ratio, each float64."""
    return {
        f"{name}.{what}": getattr(quantity, what)
        for name, quantity in step.quantities.items()
        if name not in BY_ROW
        for what in ("actual", "expected", "allowed", "ratio")
    }


def npz(trace: Trace) -> bytes:
    """Everything of every step: ``forward0.m.actual``, ``dQ.dS.expected`` and so on."""
    arrays: dict[str, Array] = {}
    for step in trace.steps:
        key = f"tile{step.number}" if step.kind == FORWARD else step.kind.replace(", ", "_")
        for name, quantity in step.quantities.items():
            for what in ("actual", "expected", "allowed", "ratio"):
                arrays[f"{key}.{name}.{what}"] = getattr(quantity, what)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def values_npy(trace: Trace) -> bytes:
    """What dbg() told, a record each; ``component`` is 2³² − 1 where there is none."""
    kind = np.dtype(
        {
            "names": ["tag", "workgroup", "invocation", "component", "value"],
            "formats": ["<u4", "<u4", "<u4", "<u4", "<f8"],
        }
    )
    rows = [
        (v.tag, v.workgroup, v.invocation, NONE if v.component is None else v.component, v.value)
        for v in trace.values
    ]
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array(rows, kind), allow_pickle=False)
    return file.getvalue()


def values_csv(trace: Trace) -> bytes:
    """The same as text, a line each."""
    file = io.StringIO(newline="")
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["tag", "workgroup", "invocation", "component", "value"])
    for v in trace.values:
        component = "" if v.component is None else v.component
        lines.writerow([v.tag, v.workgroup, v.invocation, component, repr(v.value)])
    return file.getvalue().encode()
