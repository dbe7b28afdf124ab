"""From what a search found to the table of an adapter: which sizes each row is for."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from server.bench_spec import HEADS
from server.cases import Case
from server.tune_search import Found
from server.tuned import NAMES

_SOFTWARE = [f"{op}:T={T},H=4,D=64" for op in ("forward", "backward") for T in (64, 256)]
_HARDWARE = [
    f"{op}:T={T},H={HEADS},D={D}{dtype}"
    for dtype in ("", ",dtype=f16")
    for op in ("forward", "backward")
    for D in (64, 128)
    for T in (512, 1024, 4096)
]


def default_cases(software: bool) -> list[Case]:
    """What is measured where no case is named: on a CPU no more than minutes of it."""
    return [Case.parse(text) for text in (_SOFTWARE if software else _HARDWARE)]


def table(found: Sequence[Found], adapter: Mapping[str, Any] | None, engine: str) -> dict[str, Any]:
    """The table that `fa2 tune` writes."""
    kernels: dict[str, list[dict[str, Any]]] = defaultdict(list)
    choices: list[dict[str, Any]] = []
    for one in found:
        if not one.improved:
            continue
        conditions, why = ranges(one.case, [other.case for other in found]), reason(one)
        for name, tile in one.tiles.items():
            kernels[name].append({**conditions, **tile, "why": why})
        if one.kernel != one.kernel_before:
            choices.append({"op": one.case.op, **conditions, "kernel": one.kernel, "why": why})
    return {
        "adapter": {name: (adapter or {}).get(name, "") for name in NAMES},
        "engine": engine,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "measured": [measured(one) for one in found],
        "kernels": dict(kernels),
        "choices": choices,
    }


def ranges(case: Case, measured: Iterable[Case]) -> dict[str, Any]:
    """The conditions of a row: the sizes that this case stands for among those measured.

    Between two lengths the border lies at their geometric mean; the longest stands for all longer
    ones. So it is with the rows of all heads, which decide on a GPU how large a tile may be. A head
    size stands for those above half of it. Few queries over many keys, or the reverse, want other
    kernels than as many of both: neither stands for the other.

    >>> cases = [Case.parse(f"forward:T={T},D=64") for T in (512, 2048, 8192)]
    >>> found = ranges(cases[1], cases)
    >>> {name: found[name] for name in ("minD", "maxD", "minT", "maxT", "minTq")}
    {'minD': 33, 'maxD': 64, 'minT': 1025, 'maxT': 4096, 'minTq': 32}
    >>> few = Case.parse("forward:Tq=1,Tk=4096,D=64")
    >>> ranges(few, [few])["maxTq"]
    64
    """
    alike = [other for other in measured if _kind(other) == _kind(case)]
    conditions: dict[str, Any] = {"minD": case.D // 2 + 1, "maxD": case.D}
    for name, size in (("T", _length), ("Rows", _rows)):
        sizes = sorted({size(other) for other in alike})
        own = sizes.index(size(case))
        if own > 0:
            conditions[f"min{name}"] = math.isqrt(sizes[own - 1] * sizes[own]) + 1
        if own + 1 < len(sizes):
            conditions[f"max{name}"] = math.isqrt(sizes[own] * sizes[own + 1])
    if "minT" in conditions and case.Tq == case.Tk:
        conditions["minTq"] = conditions["minTk"] = math.isqrt(conditions["minT"])
    if case.Tq != case.Tk:
        conditions["maxTq" if case.Tq < case.Tk else "maxTk"] = math.isqrt(case.Tq * case.Tk)
    return {**conditions, "dtype": [case.dtype], "causal": case.causal}


def _kind(case: Case) -> tuple[object, ...]:
    return case.op, case.D, case.dtype, case.causal, case.Tq < case.Tk, case.Tq > case.Tk


def _length(case: Case) -> int:
    return max(case.Tq, case.Tk)


def _rows(case: Case) -> int:
    return case.B * case.H * case.Tq


def reason(found: Found) -> str:
    """The figure that justifies a row."""
    return (
        f"{found.case}: {found.after_ns / 1e6:.4g} ms, {found.before_ns / 1e6:.4g} ms before, "
        f"{found.clock} time"
    )


def measured(found: Found) -> dict[str, Any]:
    """As JSON; the rows of a table can be made from these again."""
    return {**dataclasses.asdict(found), "case": str(found.case), "wrong": list(found.wrong)}
