"""``GET /api/runs/{run}/heatmap/{name}``: where an output of a finished run is wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from server.heatmap import heads_of, heat_map, safetensors
from server.outputs import AXES
from server.problems import Problem
from server.routes_runs import KnownRun
from server.run import Run
from server.strict_json import StrictRoute

router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])

_AT_ONCE = threading.BoundedSemaphore(2)
"""Somebody who leafs through many heads must not take every core from the judge."""


@router.get("/{run}/heatmap/{name}")
async def heatmap(
    run: KnownRun,
    name: str,
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

    data = await _in_daemon_thread(work)
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


async def _in_daemon_thread(work: Callable[[], bytes]) -> bytes:
    """A pool's threads are joined at exit, and Ctrl+C would wait for them; a daemon's is not."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bytes] = loop.create_future()

    def settle(data: bytes | None, error: Exception | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(data or b"")

    def run() -> None:
        data, error = None, None
        try:
            with _AT_ONCE:
                data = work()
        except Exception as raised:
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, data, error)

    threading.Thread(target=run, name="heatmap", daemon=True).start()
    return await result
