"""A report out of its JSON: the way back from ``Report.to_dict``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.errors import PageError
from server.outputs import AXES
from server.report import Control, Finding, OutputReport, Report, RunError
from server.verdict import Worst

_PLAIN = ("case", "kernel", "status", "message", "input_sha256", "shader_sha256", "engine")
_TIMES = ("elapsed_ns", "compile_ns", "first_result_ns", "gpu_ns")


def read_report(found: Mapping[str, Any]) -> Report:
    """The report that ``to_dict`` has written. Raises PageError when it is none.

    >>> from server.report import skipped, Done
    >>> report = skipped("forward:T=8,D=4", Done(status="skip"))
    >>> read_report(report.to_dict()) == report
    True
    """
    try:
        fields: dict[str, Any] = {name: found[name] for name in (*_PLAIN, *_TIMES)}
        return Report(
            **fields,
            outputs={name: _output(name, one) for name, one in found["outputs"].items()},
            controls={
                name: Control(one["changes"], one["caught"], float(one["ratio"]))
                for name, one in found["controls"].items()
            },
            kappa=float(found["kappa"]),
            adapter=found["adapter"],
            passes=tuple(found["passes"]),
            edited=tuple(found["edited"]),
            told=int(found["told"]),
            warnings=tuple(found["warnings"]),
            finding=Finding(**found["finding"]) if found["finding"] else None,
            error=RunError(**found["error"]) if found["error"] else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PageError(f"this is no report: {type(error).__name__}: {error}") from None


def _output(name: str, found: Mapping[str, Any]) -> OutputReport:
    worst = found["worst"]
    axes = AXES[name]
    tile = worst["tile"]
    if tile is not None:
        # Only query and key tiles are counted, in the order of the axes.
        tile = dict(zip([axis for axis in axes if axis in ("i", "j")], tile, strict=False))
    actual, expected, allowed = (float(worst[key]) for key in ("actual", "expected", "allowed"))
    place = dict(zip(axes, worst["index"], strict=True))
    return OutputReport(
        float(found["worst_ratio"]),
        Worst(place, tile, actual, expected, allowed),
        **{key: int(found[key]) for key in ("bad", "total", "nan", "inf")},
        where=str(found["where"]),
    )
