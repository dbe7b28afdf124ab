"""Where wrong elements lie, as a sentence: "all with j ≥ 8: the first key tile is right".

A sentence is only made of what is true of *all* wrong elements and of few right ones. Each axis is
looked at alone (one value, odd, even, from n on, up to n, one row of each tile, every fourth
channel); the claims of the axes are then joined and the share of wrong elements among those that
the joint claim covers is counted and said. Matrices (i, j) are also compared with the diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]

DENSE = 0.5
"""A claim about an axis needs this share of the values it covers to hold a wrong element."""

NOUNS = {"b": "batch", "h": "head", "hkv": "key head", "i": "row", "j": "key", "d": "channel"}
TILES = {"i": "query tile", "j": "key tile"}


@dataclass(frozen=True)
class Geometry:
    """What the finder knows of the case: tile sizes, and the last key that each row may see.

    ``diagonal``: row i stands at key i + diagonal. Everything may be unknown.
    """

    tile: Mapping[str, int] | None = None  # {"i": Br, "j": Bc}
    last_key: Ints | None = None
    diagonal: int | None = None


@dataclass(frozen=True)
class Claim:
    """A phrase, and what it is true of: coordinates of an axis, or elements (broadcast)."""

    text: str
    covers: Bools


def describe(
    bad: Bools, axes: Sequence[str], coords: Mapping[str, Ints], geometry: Geometry
) -> str:
    """One sentence without a full stop. ``bad`` has one axis per name in ``axes``.

    ``coords[axis]`` are the true coordinates along an axis of which only a sample was judged; axes
    that it lacks count from 0.

    >>> bad = np.zeros((4, 32), bool); bad[1::2] = True
    >>> describe(bad, ("h", "i"), {}, Geometry())
    'all in odd heads h (1, 3), every element there'
    """
    wrong = int(bad.sum())
    if wrong == 0:
        return "nowhere"
    if wrong == bad.size:
        return "everywhere"
    places = [coords.get(a, np.arange(n)) for a, n in zip(axes, bad.shape, strict=True)]
    if wrong == 1:
        index = [x[n[0]] for x, n in zip(places, np.nonzero(bad), strict=True)]
        return "only at " + ", ".join(f"{a} = {n}" for a, n in zip(axes, index, strict=True))
    claims = find_claims(bad, axes, places, geometry)
    covered = _joint(claims, bad)
    share = wrong / int(covered.sum())
    right_inside = (int(covered.sum()) - wrong) / (bad.size - wrong)
    if not claims or (share < 0.5 and right_inside > 0.5):
        everywhere = wrong / bad.size
        if everywhere > 0.9:
            return f"nearly everywhere ({percent(everywhere)} of the elements)"
        return _scattered(bad, axes)
    amount = "every element" if share == 1 else f"{percent(share)} of the elements"
    return f"all {' and '.join(claim.text for claim in claims)}, {amount} there"


def find_claims(
    bad: Bools, axes: Sequence[str], places: Sequence[Ints], geometry: Geometry
) -> list[Claim]:
    """Claims that are true of every wrong element, none of which follows from the others."""
    claims = []
    for position, (axis, values) in enumerate(zip(axes, places, strict=True)):
        hit = np.asarray(bad.any(axis=_others(bad, position)))
        claim = _claim(axis, values, hit, geometry)
        if claim is not None:
            covers = np.expand_dims(claim.covers, _others(bad, position))
            claims.append(Claim(claim.text, covers))
    diagonal = _diagonal(bad, axes, places, geometry)
    if diagonal is not None:
        claims.append(diagonal)
    covered = _joint(claims, bad)
    for claim in list(claims):
        rest = [other for other in claims if other is not claim]
        if rest and (_joint(rest, bad) == covered).all():
            claims = rest
    return claims


def _joint(claims: Sequence[Claim], bad: Bools) -> Bools:
    covered = np.ones(bad.shape, bool)
    for claim in claims:
        covered &= claim.covers
    return covered


def _claim(axis: str, values: Ints, hit: Bools, geometry: Geometry) -> Claim | None:
    """The plainest true claim about the wrong coordinates of one axis; None if they are all."""
    if hit.all():
        return None
    best: tuple[float, Claim] | None = None
    for claim in _candidates(axis, values, values[hit], geometry):
        if not claim.covers[hit].all() or claim.covers.all():
            continue
        density = float(hit.sum() / claim.covers.sum())
        # earlier candidates say more: a later one must fit clearly better
        if density >= max(DENSE, 0.0 if best is None else best[0] + 0.1):
            best = density, claim
    return None if best is None else best[1]


def _candidates(axis: str, x: Ints, wrong: Ints, geometry: Geometry) -> list[Claim]:
    """Claims about the coordinates x of an axis, the most telling first."""
    low, high, noun = int(wrong.min()), int(wrong.max()), NOUNS.get(axis, axis)
    if low == high:
        return [Claim(f"in {noun} {axis} = {low}", x == low)]
    found: list[Claim] = []
    size = (geometry.tile or {}).get(axis, 0)
    if size > 1 and axis in TILES:
        found += _tile_claims(axis, x, wrong, size)
    if axis == "i" and geometry.last_key is not None:
        found.append(Claim("in rows that see no key", geometry.last_key[x] < 0))
    if axis == "i" and geometry.last_key is not None and geometry.tile:
        found += _first_key_tile(geometry.last_key[x], geometry.tile.get("j", 0))
    for word, rest in (("odd", 1), ("even", 0)):
        names = [str(n) for n in x[x % 2 == rest]]
        listed = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        found.append(Claim(f"in {word} {noun}s {axis} ({listed})", x % 2 == rest))
    spared = x[~np.isin(x, wrong)]
    if len(spared) == 1 and len(x) > 3:
        found.append(Claim(f"in {noun}s other than {axis} = {spared[0]}", x != spared[0]))
    found.append(Claim(f"with {axis} ≥ {low}", x >= low))
    found.append(Claim(f"with {axis} ≤ {high}", x <= high))
    for period in (4, 8, 16, 32):
        if low % period == high % period:
            rest = low % period
            found.append(Claim(f"with {axis} mod {period} = {rest}", x % period == rest))
    found.append(Claim(f"with {low} ≤ {axis} ≤ {high}", (x >= low) & (x <= high)))
    return found


def _tile_claims(axis: str, x: Ints, wrong: Ints, size: int) -> list[Claim]:
    tile, noun, top = TILES[axis], NOUNS[axis], int(x.max())
    last = top // size * size
    found = []
    if last > 0 and (top + 1) % size:
        found.append(Claim(f"in the last, partial {tile} ({axis} ≥ {last})", x >= last))
    text = f"with {axis} ≥ {size}: the first {tile} is right"
    if np.isin(x[x >= size] // size, wrong // size).all():
        text += ", the later ones are not"
    found.append(Claim(text, x >= size))
    found.append(Claim(f"in the last {tile} ({axis} ≥ {last})", x >= last))
    found.append(Claim(f"in the first {tile} ({axis} < {size})", x < size))
    found.append(Claim(f"in the last {noun} of each {tile}", x % size == size - 1))
    found.append(Claim(f"in the first {noun} of each {tile}", x % size == 0))
    text = f"in the upper half of each {tile} ({axis} mod {size} ≥ {size // 2})"
    found.append(Claim(text, x % size >= size // 2))
    rest = wrong % size
    first, last = int(rest.min()), int(rest.max())
    if top >= size:
        if 0 < last < size - 1:
            text = (
                f"in the first {last + 1} {noun}s of each {tile}, not in its last {size - 1 - last}"
            )
            found.append(Claim(text, x % size <= last))
        if 0 < first < size - 1:
            text = f"in the last {size - first} {noun}s of each {tile}, not in its first {first}"
            found.append(Claim(text, x % size >= first))
    return found


def _first_key_tile(last_key: Ints, size: int) -> list[Claim]:
    """Rows that see more than the first key tile, as a claim on the rows."""
    text = f"in rows that see keys j ≥ {size}: rows that see the first key tile only are right"
    return [Claim(text, last_key >= size)] if size > 0 else []


def _diagonal(
    bad: Bools, axes: Sequence[str], places: Sequence[Ints], geometry: Geometry
) -> Claim | None:
    """A claim about j against i + diagonal, for attn and dbias."""
    if "i" not in axes or "j" not in axes or geometry.diagonal is None:
        return None
    i, j = axes.index("i"), axes.index("j")
    rows = np.expand_dims(places[i], _others(bad, i)) + geometry.diagonal
    past = np.broadcast_to(np.expand_dims(places[j], _others(bad, j)) - rows, bad.shape)
    low, high = int(past[bad].min()), int(past[bad].max())
    at = f"i {geometry.diagonal:+d}" if geometry.diagonal else "i"
    if low == high:
        side = f", {abs(low)} {'past' if low > 0 else 'before'} it" if low else ""
        claim = Claim(f"on the diagonal j = {at}{side}", past == low)
    elif low > 0:
        claim = Claim(f"above the diagonal (j > {at})", past > 0)
    elif high <= 0:
        claim = Claim(f"on or below the diagonal (j ≤ {at})", past <= 0)
    else:
        return None
    return claim if bad.sum() >= 0.2 * claim.covers.sum() and not claim.covers.all() else None


def _scattered(bad: Bools, axes: Sequence[str]) -> str:
    parts = []
    for position, axis in enumerate(axes):
        size, hit = bad.shape[position], int(np.sum(bad.any(axis=_others(bad, position))))
        if size > 1:
            noun = NOUNS.get(axis, axis)
            plural = noun + ("es" if noun.endswith("ch") else "s")
            parts.append(f"{'every' if hit == size else f'{hit} of {size}'} "
                         f"{noun if hit == size else plural}")  # fmt: skip
    return "scattered, without a simple pattern: in " + ", ".join(parts)


def _others(array: Bools, position: int) -> tuple[int, ...]:
    return tuple(p for p in range(array.ndim) if p != position)


def percent(share: float) -> str:
    """A share in words that never round to "all" or "none".

    >>> percent(1.0), percent(0.9998), percent(0.123), percent(0.0001)
    ('100 %', 'over 99 %', '12 %', '0.01 %')
    """
    if share == 1:
        return "100 %"
    if share > 0.99:
        return "over 99 %"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
