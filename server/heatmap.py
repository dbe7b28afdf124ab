"""The error of one head of an output, element by element, small enough to be drawn.

Truth and bounds are the judge's own functions, applied to the part of the problem that the head
needs. More than :data:`LARGEST` rows or columns are reduced by maximum: a cell stands for the worst
of its elements, and tells that element's place and values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from server.attention_problem import Array, Problem
from server.cases import Case
from server.inputs import few_weights, make_inputs
from server.judge import problem_of, tile_of
from server.measure import Bounds, measure, part_of, sample_of
from server.outputs import AXES, logical, outputs_of
from server.report import Done
from server.verdict import Output, ratios

LARGEST = 512
NAMES = {"i": "query", "j": "key", "d": "channel"}


@dataclass(frozen=True)
class HeatMap:
    """``planes``: ratio f32, actual f32, expected f64, allowed f64, row u32, column u32, each
    [rows, columns] of cells; ratio is NaN where the output is. ``facts``: what the axes are."""

    planes: dict[str, Array]
    facts: dict[str, str | int]


def heads_of(case: Case, name: str) -> tuple[int, int]:
    """Over how many batches and heads an output extends (dbias: those that its bias has)."""
    if name == "dbias":
        B, H = logical_shape(case, name)[:2]
        return B, H
    return case.B, case.Hkv if name in ("dk", "dv") else case.H


def logical_shape(case: Case, name: str) -> tuple[int, ...]:
    """The shape of an output in logical order, which ``AXES`` names."""
    spec = next(spec for spec in outputs_of(case) if spec.name == name)
    return logical(case, spec, np.broadcast_to(np.float32(0), spec.shape)).shape


def heat_map(
    case: Case, name: str, actual: Array, *, b: int, h: int, done: Done, kappa: float
) -> HeatMap:
    """The error of head ``h`` (a key head for dk and dv) of batch ``b``.

    ``actual``: the uploaded output in its shape in memory; its inputs are those of the case's seed.
    """
    spec = next(spec for spec in outputs_of(case) if spec.name == name)
    problem = problem_of(case, make_inputs(case))
    tile = tile_of(done)
    bounds = Bounds(kappa, few_weights(case), case.dtype == "f16")
    output = _head(problem, name, logical(case, spec, actual), b, h, bounds, tile, case.seed)
    row_axis, column_axis = _plane_axes(name)
    planes, cell_rows, cell_columns = _cells(output)
    B, H = heads_of(case, name)
    return HeatMap(
        planes,
        {
            "rows": planes["ratio"].shape[0],
            "columns": planes["ratio"].shape[1],
            "cell_rows": cell_rows,
            "cell_columns": cell_columns,
            "row_axis": NAMES[row_axis],
            "column_axis": NAMES.get(column_axis, ""),
            "row_tile": tile.get(row_axis, 0),
            "column_tile": tile.get(column_axis, 0),
            "b": b,
            "h": h,
            "batches": B,
            "heads": H,
            "sampled": int(any(axis in output.coords for axis in output.axes)),
        },
    )


def _plane_axes(name: str) -> tuple[str, str]:
    """What goes down and what goes across; lse is one column."""
    down, *across = [axis for axis in AXES[name] if axis in NAMES]
    return down, across[0] if across else ""


def _head(
    problem: Problem,
    name: str,
    actual: Array,
    b: int,
    h: int,
    bounds: Bounds,
    tile: Mapping[str, int],
    seed: int,
) -> Output:
    """The head's output with one row and one column axis; coords name sampled rows and keys."""
    _, _, _, H, Hkv = problem.shape
    sample = sample_of(problem, tile, seed)
    if name != "dbias":  # which is a sum over heads and batches: the whole problem is its part
        group = 1 if name in ("dk", "dv") else H // Hkv
        problem = part_of(problem, b, np.array([h // group]))
        heads = slice(h // group * group, (h // group + 1) * group)
        head_axis = 1 if name in ("lse", "attn") else 2
        actual = actual[b : b + 1]
        actual = actual[:, heads] if head_axis == 1 else actual[:, :, heads]
        b, h = 0, h % group
        if sample is not None:
            sample = replace(sample, batch=0, kv_heads=np.array([0]))
    (found,) = measure(problem, {name: actual}, bounds, sample).outputs
    index = tuple({"b": b, "h": h, "hkv": h}.get(axis, slice(None)) for axis in found.axes)
    axes = tuple(axis for axis in found.axes if axis in NAMES)
    return replace(
        found,
        axes=axes,
        actual=found.actual[index],
        expected=found.expected[index],
        allowed=found.allowed[index],
    )


def _cells(output: Output) -> tuple[dict[str, Array], int, int]:
    """The planes, and how many rows and columns a cell stands for."""
    shape = (output.actual.shape[0], output.actual[0].size)
    ratio = ratios(output.actual, output.expected, output.allowed).reshape(shape)
    cell = (-(-shape[0] // LARGEST), -(-shape[1] // LARGEST))
    row, column = np.unravel_index(_worst_of_cells(ratio, cell), shape)
    actual = output.actual.reshape(shape)[row, column].astype(np.float32)
    planes: dict[str, Array] = {
        "expected": output.expected.reshape(shape)[row, column],
        "allowed": output.allowed.reshape(shape)[row, column],
        "ratio": np.where(np.isnan(actual), np.nan, ratio[row, column]).astype(np.float32),
        "actual": actual,
        "row": _true(output, 0, row),
        "column": _true(output, 1, column),
    }
    return planes, *cell


def _true(output: Output, axis: int, index: Array) -> Array:
    """Indices along an axis of which perhaps only a sample was judged, counted in the tensor."""
    known = output.coords.get(output.axes[axis]) if axis < len(output.axes) else None
    return (index if known is None else known[index]).astype(np.uint32)


def _worst_of_cells(ratio: Array, cell: tuple[int, int]) -> Array:
    """Flat index of the worst element of each cell, [rows, columns] of cells."""
    (R, C), (r, c) = ratio.shape, cell
    rows, columns = -(-R // r), -(-C // c)
    padded = np.full((rows * r, columns * c), -1.0)  # less than any ratio: never the worst
    padded[:R, :C] = ratio
    blocks = padded.reshape(rows, r, columns, c).swapaxes(1, 2).reshape(rows, columns, r * c)
    inner_row, inner_column = np.divmod(blocks.argmax(axis=2), c)
    row = np.arange(rows)[:, None] * r + inner_row
    found: Array = row * C + np.arange(columns) * c + inner_column
    return found


def safetensors(found: HeatMap) -> bytes:
    """A file in the safetensors format: header length u64, JSON, raw little-endian tensors."""
    kinds = {"f4": "F32", "f8": "F64", "u4": "U32"}
    metadata = {key: str(value) for key, value in found.facts.items()}
    header: dict[str, Any] = {"__metadata__": metadata}
    parts, end = [], 0
    for name, plane in found.planes.items():
        part = np.ascontiguousarray(plane, plane.dtype.newbyteorder("<")).tobytes()
        dtype = kinds[f"{plane.dtype.kind}{plane.dtype.itemsize}"]
        offsets = [end, end + len(part)]
        header[name] = {"dtype": dtype, "shape": list(plane.shape), "data_offsets": offsets}
        parts.append(part)
        end += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)
