"""Where an output of a finished run is wrong: one head element by element, or all of it.

``GET /api/runs/{run}/heatmap/{name}`` · ``…/anatomy/{name}`` · ``…/suspects/{name}``
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from server.anatomy import anatomy
from server.daemon import in_daemon_thread
from server.heatmap import Window, heat_map, safetensors
from server.judged_parts import NotJudged, Subject, heads_of
from server.outputs import AXES
from server.problems import Problem
from server.routes_runs import KnownRun
from server.run import Run
from server.strict_json import StrictRoute
from server.suspects import suspects

router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])
T = TypeVar("T")

AT_ONCE = 2
"""Somebody who leafs through many heads must not take every core from the judge."""

_WINDOW = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")


def slots() -> asyncio.Semaphore:
    """What an app keeps as ``state.heatmaps``: who may compute."""
    return asyncio.Semaphore(AT_ONCE)


def subject_of(run: Run, name: str, request: Request) -> Subject:
    """The run, ready to be looked at. Problem 404 409 if it is not, or keeps no ``name``."""
    if not run.finished:
        raise Problem(409, "wrong-state", f"run {run.id} is {run.state}, not finished")
    if name not in run.tensors or run.done is None:
        raise Problem(
            404, "no-tensor", f"run {run.id} keeps no {name[:40]!r}: not sent, or evicted"
        )
    return Subject.of(run, request.app.state.truths)


async def compute(request: Request, work: Callable[[], T], name: str) -> T:
    """What ``work`` returns, once it has had its turn in a thread of its own."""
    async with request.app.state.heatmaps:
        if await request.is_disconnected():  # it has leafed on while it waited
            raise ClientDisconnect
        return await in_daemon_thread(work, name=name)


@router.get("/{run}/heatmap/{name}")
async def heatmap(
    run: KnownRun,
    name: str,
    request: Request,
    b: Annotated[int | None, Query(ge=0)] = None,
    h: Annotated[int | None, Query(ge=0)] = None,
    rows: Annotated[str | None, Query(max_length=19)] = None,
    columns: Annotated[str | None, Query(max_length=19)] = None,
) -> Response:
    """|error| / allowed of one head as a safetensors file; without b and h, of the worst element's.

    Tensors [rows, columns], at most 512 × 512 cells, each the worst of the elements that it stands
    for: ``ratio``, ``actual``, ``expected``, ``allowed``, ``ulp``, and ``row``, ``column`` of that
    element. ``rows`` and ``columns``, as in ``rows=128:256``, choose a window of the head.
    """
    subject = subject_of(run, name, request)
    batch, head = _chosen(run, name, b, h)
    window = {"rows": _window("rows", rows), "columns": _window("columns", columns)}

    def work() -> bytes:
        return safetensors(heat_map(subject, name, b=batch, h=head, **window))

    try:
        data = await compute(request, work, "heatmap")
    except NotJudged as error:
        raise Problem(404, "not-judged", f"{error}") from None
    headers = {"Content-Disposition": f'attachment; filename="{run.id}-{name}.safetensors"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get("/{run}/anatomy/{name}")
async def whole(run: KnownRun, name: str, request: Request) -> JSONResponse:
    """An output over all its heads: which are wrong, the error in ULPs as a histogram, the worst
    ten elements, and the error along each axis.
    """
    subject = subject_of(run, name, request)

    def work() -> dict[str, Any]:
        return anatomy(subject, name)

    return JSONResponse(await compute(request, work, "anatomy"))


@router.get("/{run}/suspects/{name}")
async def likeness(run: KnownRun, name: str, request: Request) -> list[str]:
    """What the wrong values of an output look like: known mistakes that give just these."""
    subject = subject_of(run, name, request)
    found = None if run.report is None else run.report.outputs.get(name)
    if found is None or not found.bad:
        return []
    index = found.worst.index
    return await compute(request, lambda: suspects(subject, name, index), "suspects")


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


def _window(key: str, text: str | None) -> Window | None:
    if text is None:
        return None
    match = _WINDOW.fullmatch(text)
    if match is None or int(match[1]) >= int(match[2]):
        raise Problem(422, "invalid", f"{key}={text!r}: give first:last, as 128:256, first < last")
    return int(match[1]), int(match[2])
