"""What a golden file states as tolerance, and whether it can be one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def bound(key: str, value: Any) -> float:
    """A tolerance that a file states under ``key``.

    0 is one: published cases whose expected values are exactly 0 ask for it. ValueError for what
    is no number, negative, NaN or infinite: with infinity every kernel would pass.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= sys.float_info.max:
        raise ValueError(f"{key} is {value!r}; a tolerance is a finite number, not below 0")
    return float(value)


def bounds(key: str, stated: Mapping[str, Any]) -> dict[str, float]:
    """The tolerances by output name that a file states under ``key``."""
    return {name: bound(f"{key} of {name}", value) for name, value in stated.items()}


def relative(checks: Mapping[str, str]) -> dict[str, float]:
    """The bounds of outputs whose check is ``rel X``, relative to the largest expected value."""
    words = {name: check.split() for name, check in checks.items() if check.startswith("rel")}
    found = {}
    for name, said in words.items():
        try:
            value = float(said[1])
        except (IndexError, ValueError):
            value = float("nan")
        if not 0 <= value <= sys.float_info.max:
            raise ValueError(f"checks of {name} is {checks[name]!r}; write rel and a finite number")
        found[name] = value
    return found
