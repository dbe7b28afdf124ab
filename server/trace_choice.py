"""Which tile is worth a look: that of the worst element of a report."""

from __future__ import annotations

from server.cases import Case
from server.report import Report


def worst_tile(case: Case, report: Report) -> dict[str, int]:
    """What ``trace`` of POST /api/runs takes; the first tile where nothing was judged.

    Of a wrong dk or dv only the key tile is known; the page then takes the first query tile that
    sees it.
    """
    found = {"b": 0, "h": 0}
    if not report.outputs:
        return found
    worst = max(report.outputs.values(), key=lambda output: output.worst_ratio).worst
    at, tile = worst.index, worst.tile or {}
    found["b"] = at.get("b", 0)
    found["h"] = at["h"] if "h" in at else at.get("hkv", 0) * (case.H // case.Hkv)
    if "i" in tile:
        found["i_tile"] = tile["i"]
    if "j" in tile and case.op == "backward":
        found["j_tile"] = tile["j"]
    return found
