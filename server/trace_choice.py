"""Which tile is worth a look: that of the worst element of a report."""

from __future__ import annotations

from collections.abc import Mapping

from server.cases import Case
from server.report import Report


def worst_tile(case: Case, report: Report, tile: Mapping[str, int] | None) -> dict[str, int]:
    """What ``trace`` of POST /api/runs takes; the first tile where nothing was judged.

    ``tile``: the query rows and keys of the kernel's tiles. Of a wrong dk or dv only the key tile
    is known; the page then takes the first query tile that sees it.
    """
    found = {"b": 0, "h": 0}
    if not report.outputs or not tile:
        return found
    worst = max(report.outputs.values(), key=lambda output: output.worst_ratio).worst.index
    found["b"] = worst.get("b", 0)
    found["h"] = worst["h"] if "h" in worst else worst.get("hkv", 0) * (case.H // case.Hkv)
    if "i" in worst:
        found["i_tile"] = worst["i"] // max(1, tile["Br"])
    if "j" in worst and case.op == "backward":
        found["j_tile"] = worst["j"] // max(1, tile["Bc"])
    return found
