"""The ordered checks that turn raw tensors into pass or fail; the first failure wins.

    structure   every tensor there, with its dtype and exactly its elements
    guards      the words in front of and behind each output still hold the pass's poison
    written     no element still holds the poison that its buffer was filled with (poison.py)
    repeated    the second pass, over another poison, gave the same bits
    finite      no NaN or infinity, except L = −inf in rows that see no key
    bounded     every element within its own bound

Each check returns None or a :class:`Failure`. Every comparison is written so that NaN fails it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from server import patterns
from server.patterns import Bools, Geometry, Ints
from server.poison import still_poison

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]

LSE_EMPTY = -1e30
"""A row that sees no key may store any L up to this, since WGSL need not know infinities."""
SIDES = ("in front of", "behind")
MEMORY = ("structure", "guards", "written", "repeated")
"""The checks that know no bound: whatever a result may be off by, it has to pass them."""


class Spec(Protocol):
    """What a tensor must be (``outputs.OutputSpec``)."""

    @property
    def name(self) -> str: ...
    @property
    def numpy(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Failure:
    """A check that failed: which, on which output, and the sentence for people."""

    check: str
    output: str
    message: str
    sentence: str  # what is wrong and where, the shortest way that says it


@dataclass(frozen=True)
class Output:
    """One output in logical order, with the truth and the bound of each element.

    ``expected`` −inf means "no key": −inf or ≤ LSE_EMPTY passes. ``coords`` names the true
    coordinates along axes of which a sample was taken.
    """

    name: str
    axes: tuple[str, ...]
    actual: Array
    expected: F64
    allowed: F64
    coords: Mapping[str, Ints] = field(default_factory=dict)

    def place(self, flat: int) -> dict[str, int]:
        """The named index of a flat position: ``{"b": 0, "h": 1, "i": 5, "d": 3}``."""
        index = np.unravel_index(flat, self.actual.shape)
        return {a: int(self.coords[a][n] if a in self.coords else n)
                for a, n in zip(self.axes, index, strict=True)}  # fmt: skip


@dataclass(frozen=True)
class Worst:
    """The element with the largest |error| / allowed. ``tile`` numbers the tiles it lies in."""

    index: dict[str, int]
    tile: dict[str, int] | None
    actual: float
    expected: float
    allowed: float


@dataclass(frozen=True)
class Comparison:
    """An output against its bound: ``worst_ratio`` is inf for NaN and for bounds of zero."""

    output: Output
    ratios: F64
    bad: Bools
    worst_ratio: float
    worst: Worst
    nan: int
    inf: int

    @property
    def wrong(self) -> int:
        return int(self.bad.sum())

    @property
    def total(self) -> int:
        return self.bad.size


def ratios(actual: Array, expected: F64, allowed: F64) -> F64:
    """|actual − expected| / allowed, element by element; up to 1 passes.

    inf where anything is NaN, where a bound of 0 is missed and where a bound is not finite. Where
    expected is −inf (no key): 0 for actual ≤ LSE_EMPTY, else inf.
    """
    with np.errstate(all="ignore"):
        got = actual.astype(np.float64)
        empty = np.isneginf(expected)
        error = np.abs(got - np.where(empty, 0.0, expected))
        ratio = np.where(error == 0, 0.0, error / allowed)  # 0 / 0 is right, x / 0 is wrong
        ratio = np.where(np.isfinite(allowed), ratio, np.inf)  # x / inf must not pass
        ratio = np.where(empty, np.where(got <= LSE_EMPTY, 0.0, np.inf), ratio)
        found: F64 = np.where(ratio >= 0, ratio, np.inf)  # NaN becomes inf
        return found


def compare(output: Output, tile: Mapping[str, int] | None = None) -> Comparison:
    """Judge one output; ``tile`` is ``{"i": Br, "j": Bc}`` and only names the worst element."""
    found = ratios(output.actual, output.expected, output.allowed)
    bad = ~(found <= 1)
    flat = int(np.argmax(found))
    index = output.place(flat)
    tiles = {a: index[a] // n for a, n in (tile or {}).items() if a in index}
    worst = Worst(
        index,
        tiles or None,
        float(output.actual.flat[flat]),
        float(output.expected.flat[flat]),
        float(output.allowed.flat[flat]),
    )
    surprising = np.isinf(output.actual) & ~(
        np.isneginf(output.actual) & np.isneginf(output.expected)
    )
    nan = int(np.isnan(output.actual).sum())
    return Comparison(
        output, found, bad, float(found.flat[flat]), worst, nan, int(surprising.sum())
    )


def fits_its_type(output: Output) -> bool:
    """Whether every right value, give or take its bound, is a finite number of the output's type.

    Where one is not, a right kernel may overflow, and nothing can be said of this output.
    """
    with np.errstate(all="ignore"):
        value = np.where(np.isneginf(output.expected), 0.0, np.abs(output.expected))
        largest = float(np.finfo(output.actual.dtype).max)
        return bool((value + output.allowed <= largest).all())


def structure(want: Sequence[Spec], tensors: Mapping[str, Array]) -> Failure | None:
    """Every wanted tensor is there with its dtype and number of elements, flat or in its shape."""
    for spec in want:
        output = spec.name.partition(".")[0]
        array = tensors.get(spec.name)
        if array is None:
            message = f"{spec.name} was not uploaded; the case wants {_shape(spec)}"
            return Failure("structure", output, message, "not uploaded")
        flat = (math.prod(spec.shape),)
        if array.dtype != spec.numpy or array.shape not in (spec.shape, flat):
            message = f"{spec.name} is {array.dtype}{list(array.shape)}, expected {_shape(spec)}"
            return Failure(
                "structure", output, message, "not of the type and shape that it must be"
            )
    return None


def guards(
    names: Sequence[str], tensors: Mapping[str, Array], poison: Sequence[int]
) -> Failure | None:
    """``NAME.guards`` u32 [2 passes, 2 sides, words] still hold the poison of their pass.

    Behind an odd number of f16 elements the guard begins in the middle of a word of poison.
    """
    for name in names:
        words = tensors[f"{name}.guards"].reshape(2, 2, -1)
        odd = tensors[name].nbytes % 4 != 0
        for number, word in enumerate(poison):
            for side, where in enumerate(SIDES):
                kept = halves_swapped(word) if odd and side == 1 else word
                touched = np.flatnonzero(words[number, side] != np.uint32(kept))
                if touched.size:
                    value = words[number, side, touched[0]]
                    return Failure(
                        "guards",
                        name,
                        f"{name}: the kernel wrote {where} the output: {touched.size} of "
                        f"{words.shape[2]} guard words changed in pass {number + 1}, the first at "
                        f"word {touched[0]} ({where} the data), now 0x{value:08x} = "
                        f"{value.view(np.float32):.6g}",
                        f"written {where} the output, out of its bounds",
                    )
    return None


def halves_swapped(word: int) -> int:
    """
    >>> hex(halves_swapped(0x7FC17E05))
    '0x7e057fc1'
    """
    return word >> 16 | (word & 0xFFFF) << 16


def written(
    outputs: Mapping[str, tuple[Array, Array]], describe: Describe, poison: Sequence[int]
) -> Failure | None:
    """No element still holds what it was filled with. ``outputs``: name → flat (pass 1, pass 2)."""
    for name, (first, second) in outputs.items():
        bits = np.dtype(f"u{first.dtype.itemsize}")
        left = still_poison(first, 0, poison[0])
        # A number may be right, too: then the first pass gave it as well.
        again = still_poison(second, 1, poison[1]) & (first.view(bits) != second.view(bits))
        for number, marked in enumerate((left, again), 1):
            if marked.any():
                where = describe(name, marked)
                return Failure(
                    "written",
                    name,
                    f"{name}: {_of(marked)} elements were never written in pass {number} (the fill "
                    f"is still there, as it is where a kernel adds to what the buffer holds). "
                    f"Where: {where}",
                    f"never written, or only added to: {where}",
                )
    return None


def repeated(outputs: Mapping[str, tuple[Array, Array]], describe: Describe) -> Failure | None:
    """Both passes gave the same bits."""
    for name, (first, second) in outputs.items():
        bits = np.dtype(f"u{first.dtype.itemsize}")
        differ: Bools = first.view(bits) != second.view(bits)
        if differ.any():
            at, where = int(np.flatnonzero(differ)[0]), describe(name, differ)
            return Failure(
                "repeated",
                name,
                f"{name}: {_of(differ)} elements changed when the same dispatch ran again: a race, "
                f"or memory read before it was written. The first: {float(first[at]):.9g}, then "
                f"{float(second[at]):.9g}. Where: {where}",
                f"another result when it runs again (a race, or memory read unwritten): {where}",
            )
    return None


class Describe(Protocol):
    """Says where the marked elements of a flat output lie."""

    def __call__(self, name: str, marked: Bools) -> str: ...


def finite(
    name: str, actual: Array, may_be_empty: Bools | None, describe: Describe
) -> Failure | None:
    """No NaN, no infinity, in a flat output; −inf is right where ``may_be_empty`` says so."""
    broken: Bools = ~np.isfinite(actual)
    if may_be_empty is not None:
        broken &= ~(np.isneginf(actual) & may_be_empty)
    if not broken.any():
        return None
    nan = int(np.isnan(actual).sum())
    inf = int(np.isinf(actual[broken]).sum())
    where = describe(name, broken)
    return Failure(
        "finite",
        name,
        f"{name}: {_of(broken)} elements are not finite ({nan} NaN, {inf} inf). Where: {where}",
        f"not finite: {where}",
    )


def bounded(comparisons: Sequence[Comparison], geometry: Geometry) -> Failure | None:
    """Every element within its bound; the text has a paragraph for each output that is not."""
    failed = [c for c in comparisons if not c.worst_ratio <= 1]
    if not failed:
        return None
    right = [c.output.name for c in comparisons if c.worst_ratio <= 1]
    text = "\n".join(_paragraph(c, geometry) for c in failed)
    if right:
        text += f"\n{', '.join(right)}: every element is within its bound."
    first = failed[0]
    return Failure("bounded", first.output.name, text, where_wrong(first, geometry))


def where_wrong(c: Comparison, geometry: Geometry) -> str:
    """Where the elements beyond their bound lie; "" if there are none."""
    if c.worst_ratio <= 1:
        return ""
    return patterns.describe(c.bad, c.output.axes, c.output.coords, geometry)


def _paragraph(c: Comparison, geometry: Geometry) -> str:
    output, worst, tile = c.output, c.worst, geometry.tile or {}
    index = ", ".join(f"{axis}={n}" for axis, n in worst.index.items())
    tiles = [f"{patterns.TILES[a]} {n}, {patterns.NOUNS[a]} {worst.index[a] % tile[a]} of it"
             for a, n in (worst.tile or {}).items()]  # fmt: skip
    where = where_wrong(c, geometry)
    values = f"actual {worst.actual:.9g}, expected {worst.expected:.9g}"
    times = f" ({c.worst_ratio:.3g} times that)" if np.isfinite(c.worst_ratio) else ""
    return (
        f"{output.name}: {_of(c.bad)} elements are beyond their bound; {c.nan} NaN, {c.inf} inf.\n"
        f"  worst ({index}){' in ' + '; '.join(tiles) if tiles else ''}: {values}, "
        f"allowed ±{worst.allowed:.3g}{times}\n"
        f"  where: {where}."
    )


def _of(marked: Bools) -> str:
    count = int(marked.sum())
    return f"{count} of {marked.size} ({patterns.percent(count / marked.size)})"


def _shape(spec: Spec) -> str:
    return f"{spec.numpy}{list(spec.shape)}"
