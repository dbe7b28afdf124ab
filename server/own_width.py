"""How many rows or keys a kernel may take in one step, read from its texts without a parser.

What is forgotten from one step to the next shows only where there is a second step, so the cases
have to be longer than that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from server.own_names import without_comments

MOST = 1024
"""Invocations of the largest workgroup that a device has; a larger number is no width."""

# The texts may be anybody's: no pattern takes more than a time in proportion to their length.
_CONSTANT = re.compile(r"\b(?:const|override)\s+(\w+)\s*(?::\s*\w+\s*)?=\s*([\w\s*()]{1,80});")
_SIZES = re.compile(r"@workgroup_size\s*\(([\w\s*,]{1,200})\)")
_TYPE = re.compile(r"\b[ui]32\s*\(\s*(\w+)\s*\)")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})[ui]?")


def widest(own: Mapping[str, Any]) -> int:
    """The largest of a kernel's workgroups, its tile and its whole constants, up to ``MOST``.

    ``own``: as ``own_kernel.checked`` gives it. Products of names and numbers are understood; what
    is neither is left out. 1 where there is nothing.
    """
    code = "\n".join(without_comments(text) for text in own["files"].values())
    said = dict(own["manifest"].get("constants", {}))
    for one in own["manifest"].get("passes", ()):
        said |= one.get("constants", {})
    known: dict[str, int] = {}
    declared = [(name, _TYPE.sub(r"\1", text)) for name, text in _CONSTANT.findall(code)]
    for name, value in [*declared, *said.items()]:  # the manifest has the last word
        if (number := _product(value, known)) is not None:
            known[name] = number
    groups = [[_product(n, known) or 1 for n in _split(sizes)] for sizes in _SIZES.findall(code)]
    tile = [_product(n, known) for n in own["manifest"].get("tile", {}).values()]
    found = [*known.values(), *map(math.prod, groups), *(n for n in tile if n)]
    return max((n for n in found if n <= MOST), default=1)


def _split(sizes: str) -> list[str]:
    return [part for part in sizes.split(",") if part.strip()]


def _product(value: Any, known: Mapping[str, int]) -> int | None:
    """The number that ``128u``, ``WG * 4u`` or a manifest's value is; None = it is not that.

    >>> _product(" WG * 4u ", {"WG": 64}), _product("0x80u", {}), _product("T", {})
    (256, 128, None)
    """
    if isinstance(value, Mapping):
        value = value.get("value")
    if isinstance(value, bool) or not isinstance(value, str):
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else None
    product = 1
    for factor in value.split("*"):
        word = factor.strip()
        number = _NUMBER.fullmatch(word)
        one = int(number[1], 0 if word[:2] in ("0x", "0X") else 10) if number else known.get(word)
        if one is None:
            return None
        product *= one
    return product
