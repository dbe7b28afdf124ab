"""What an earlier `fa2 tune` measured on an adapter, as far as the kernels of today know it.

A table whose rows name what the library does not know would be refused whole, so nothing of that
kind is written again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from server import tuned
from server.adapters import adapter_name
from server.cases import Case
from server.errors import CaseError
from server.selection import REGISTRY
from server.tune_search import Found

WAY_OUT = "delete it, or name another file with --out"
MOST = 4096
"""Larger numbers are no tile of anything."""

_NOT_SIZES = {
    *(f"{end}{name}" for end in ("min", "max") for name in ("D", "T", "Tq", "Tk", "Heads", "Rows")),
    *("causal", "dtype", "align", "adapter", "features", "subgroups", "maxSubgroups", "matrix"),
    *("roles", "why"),
}
"""What a tile row says beside its numbers: conditions, files of roles, the figure behind it."""

_Time = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


class _Entry(BaseModel):
    """A ``Found``, as ``measured`` of a table holds it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    case: str
    before_ns: _Time
    after_ns: _Time
    clock: str
    kernel: str
    kernel_before: str
    tiles: dict[str, dict[str, bool | int]]
    tried: _Count
    refused: _Count
    wrong: list[str]
    unconfirmed: str = ""


@dataclass(frozen=True)
class Earlier:
    """What can be kept of an earlier table, and of every other entry why not, as a sentence."""

    found: tuple[Found, ...] = ()
    dropped: tuple[str, ...] = ()

    def beside(self, found: Sequence[Found]) -> list[Found]:
        """What was found now, and what was found earlier for other cases."""
        again = {one.case for one in found}
        return [*found, *(one for one in self.found if one.case not in again)]


def read(path: Path, adapter: Mapping[str, Any]) -> Earlier:
    """What the table at ``path`` holds of this adapter; nothing where there is none.

    Raises CaseError, with a way out, for a file that is no table, one of another adapter, and one
    with values of wrong types.
    """
    if not path.is_file():  # a pipe or a device is written, and not read
        return Earlier()
    table = tuned.read(path, WAY_OUT)
    if (other := tuned.other_adapter(table, adapter)) is not None:
        raise CaseError(
            f"{path} holds what was measured on another adapter, {adapter_name(other)}; {WAY_OUT}"
        )
    entries = table.get("measured", [])
    if not isinstance(entries, list):
        raise CaseError(f"{path}: measured={_shown(entries)} must be a list; {WAY_OUT}")
    found, dropped = [], []
    for n, entry in enumerate(entries):
        try:
            found.append(_kept(entry))
        except _Unknown as why:
            dropped.append(f"{_named(entry, n)}: {why}")
        except ValidationError as error:
            problem = error.errors()[0]
            where = "".join(f".{part}" for part in problem["loc"])
            raise CaseError(
                f"{path}: measured[{n}]{where}={_shown(problem['input'])}: {problem['msg']}; "
                f"{WAY_OUT}"
            ) from None
    return Earlier(tuple(found), tuple(dropped))


class _Unknown(Exception):
    """The entry is of a version that knew other kernels, tiles or words."""


def _kept(entry: Any) -> Found:
    if isinstance(entry, dict):
        keys = {"unconfirmed", *entry}  # which tables of earlier versions lack
        if keys != _Entry.model_fields.keys():
            raise _Unknown(f"it has other keys than {', '.join(_Entry.model_fields)}")
    read = _Entry.model_validate(entry)
    try:
        case = Case.parse(read.case)
    except CaseError as error:
        raise _Unknown(error.message) from None
    if (read.kernel, case.op) not in [(row["name"], row["op"]) for row in _rows()]:
        raise _Unknown(f"there is no kernel {read.kernel} for {case.op}")
    for name, tile in read.tiles.items():
        _known(name, tile)
    return Found(**{**read.model_dump(), "case": case, "wrong": tuple(read.wrong)})


def _known(name: str, tile: Mapping[str, bool | int]) -> None:
    sizes = _sizes().get(name)
    if sizes is None:
        raise _Unknown(f"there is no kernel {name}")
    if tile.keys() != sizes.keys():
        raise _Unknown(
            f"tiles of {name} are {', '.join(sizes)}, and not {', '.join(tile) or 'none'}"
        )
    for size, value in tile.items():
        flag = isinstance(value, bool)
        if flag != sizes[size] or not (flag or 1 <= value <= MOST):
            what = "true or false" if sizes[size] else f"1 to {MOST}"
            raise _Unknown(f"{size}={_shown(value)} of {name} must be {what}")


def _sizes() -> dict[str, dict[str, bool]]:
    """Of every kernel that is a shader, the names in its tiles, and whether each is a flag."""
    return {
        row["name"]: {
            name: isinstance(value, bool)
            for tile in row["tiles"]
            for name, value in tile.items()
            if name not in _NOT_SIZES
        }
        for row in _rows()
        if "file" in row
    }


@cache
def _rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(REGISTRY.read_text(encoding="utf-8"))["kernels"]
    return rows


def _named(entry: Any, n: int) -> str:
    case = entry.get("case") if isinstance(entry, dict) else None
    return case[:200] if isinstance(case, str) else f"measured[{n}]"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:60]
