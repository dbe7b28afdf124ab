"""The error of one head of an output, element by element, small enough to be drawn.

Truth and bounds are those of ``judged_parts``. More than :data:`LARGEST` rows or columns are
reduced by maximum: a cell stands for the worst of its elements, and tells that element's place and
values. A window of the head is drawn by itself, so that whoever looks closer sees finer cells.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from server.attention_problem import Array
from server.errors import ShapeError
from server.judged_parts import Subject, heads_of
from server.outputs import AXES
from server.ulp import ulp_distance
from server.verdict import Output, ratios

LARGEST = 512
NAMES = {"i": "query", "j": "key", "d": "channel"}

Window = tuple[int, int]
"""First and one past the last, counted along the axis as it is drawn."""


@dataclass(frozen=True)
class HeatMap:
    """``planes``: ratio, expected, allowed, ulp f64, actual f32, row, column u32, each
    [rows, columns] of cells; ratio is NaN where the output is. ``facts``: what the axes are,
    and which window of the head this is."""

    planes: dict[str, Array]
    facts: dict[str, str | int]


def heat_map(
    subject: Subject,
    name: str,
    *,
    b: int,
    h: int,
    rows: Window | None = None,
    columns: Window | None = None,
) -> HeatMap:
    """The error of head ``h`` (a key head for dk and dv) of batch ``b``, or of a window of it.

    A window is clipped to the head. Raises NotJudged, and ShapeError for a window beyond the head.
    """
    output = subject.head(name, b, h)
    shape = (output.actual.shape[0], output.actual[0].size)
    (top, bottom), (left, right) = _clipped(rows, shape[0]), _clipped(columns, shape[1])
    row_axis, column_axis = _plane_axes(name)
    planes, cell_rows, cell_columns = _cells(output, shape, slice(top, bottom), slice(left, right))
    B, H = heads_of(subject.case, name)
    return HeatMap(
        planes,
        {
            "rows": planes["ratio"].shape[0],
            "columns": planes["ratio"].shape[1],
            "cell_rows": cell_rows,
            "cell_columns": cell_columns,
            "first_row": top,
            "first_column": left,
            "all_rows": shape[0],
            "all_columns": shape[1],
            "row_axis": NAMES[row_axis],
            "column_axis": NAMES.get(column_axis, ""),
            "row_tile": subject.tile.get(row_axis, 0),
            "column_tile": subject.tile.get(column_axis, 0),
            "b": b,
            "h": h,
            "batches": B,
            "heads": H,
            "sampled": int(any(axis in output.coords for axis in output.axes)),
        },
    )


def _clipped(window: Window | None, size: int) -> Window:
    if window is None:
        return 0, size
    first, last = max(window[0], 0), min(window[1], size)
    if first >= last:
        raise ShapeError(f"{window[0]}:{window[1]} holds none of the {size} that there are")
    return first, last


def _plane_axes(name: str) -> tuple[str, str]:
    """What goes down and what goes across; lse is one column."""
    down, *across = [axis for axis in AXES[name] if axis in NAMES]
    return down, across[0] if across else ""


def _cells(
    output: Output, whole: tuple[int, int], rows: slice, columns: slice
) -> tuple[dict[str, Array], int, int]:
    """The planes of a window, and how many rows and columns a cell stands for."""
    actual, expected, allowed = (
        array.reshape(whole)[rows, columns]
        for array in (output.actual, output.expected, output.allowed)
    )
    ratio = ratios(actual, expected, allowed)
    cell = (-(-ratio.shape[0] // LARGEST), -(-ratio.shape[1] // LARGEST))
    row, column = np.unravel_index(_worst_of_cells(ratio, cell), ratio.shape)
    actual, expected = actual[row, column], expected[row, column]
    planes: dict[str, Array] = {
        "expected": expected,
        "allowed": allowed[row, column],
        "ulp": ulp_distance(actual, expected),
        "ratio": np.where(np.isnan(actual), np.nan, ratio[row, column]),
        "actual": actual.astype(np.float32),
        "row": _true(output, 0, row + rows.start),
        "column": _true(output, 1, column + columns.start),
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
