"""``GET /api/runs/{run}/heatmap/{name}``: where an output of a finished run is wrong."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from server.daemon import in_daemon_thread
from server.heatmap import heads_of, heat_map, safetensors
from server.outputs import AXES
from server.problems import Problem
from server.routes_runs import KnownRun
from server.run import Run
from server.strict_json import StrictRoute

router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])

AT_ONCE = 2
"""Somebody who leafs through many heads must not take every core from the judge."""


def slots() -> asyncio.Semaphore:
    """What an app keeps as ``state.heatmaps``: who may compute."""
    return asyncio.Semaphore(AT_ONCE)


@router.get("/{run}/heatmap/{name}")
async def heatmap(
    run: KnownRun,
    name: str,
    request: Request,
    b: Annotated[int | None, Query(ge=0)] = None,
    h: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """|error| / allowed of one head as a safetensors file; without b and h, of the worst element's.

    Tensors [rows, columns], at most 512 × 512 cells, each the worst of the elements that it stands
    for: ``ratio``, ``actual``, ``expected``, ``allowed``, and ``row``, ``column`` of that element.
    """
    actual = run.tensors.get(name)
    if not run.finished:
        raise Problem(409, "wrong-state", f"run {run.id} is {run.state}, not finished")
    if actual is None or run.done is None:
        raise Problem(
            404, "no-tensor", f"run {run.id} keeps no {name[:40]!r}: not sent, or evicted"
        )
    if not run.seeded:
        raise Problem(404, "no-inputs", f"run {run.id} had the caller's own inputs, which are gone")
    batch, head = _chosen(run, name, b, h)
    case, done, kappa = run.case, run.done, run.kappa

    def work() -> bytes:
        return safetensors(heat_map(case, name, actual, b=batch, h=head, done=done, kappa=kappa))

    async with request.app.state.heatmaps:
        if await request.is_disconnected():  # it has leafed on while it waited
            raise ClientDisconnect
        data = await in_daemon_thread(work, name="heatmap")
    headers = {"Content-Disposition": f'attachment; filename="{run.id}-{name}.safetensors"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


def _chosen(run: Run, name: str, b: int | None, h: int | None) -> tuple[int, int]:
    """The head asked for; what is left open is taken from the worst element."""
    worst = {"b": 0, "h": 0}
    if run.report is not None and name in run.report.outputs:
        worst |= run.report.outputs[name].worst.index
    key = "hkv" if "hkv" in AXES[name] else "h"
    B, H = heads_of(run.case, name)
    batch = worst["b"] if b is None else b
    head = worst[key] if h is None else h
    if batch >= B or head >= H:
        raise Problem(
            422, "invalid", f"b={batch}, h={head}: {name} of {run.case} has b < {B} and h < {H}"
        )
    return batch, head
