"""Two kernels on one case: what an earlier run ran, and how far two finished runs are apart.

``GET /api/compare/sides/{run}`` · ``GET /api/compare?a=RUN&b=RUN``
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse

from server.compare import differences, same_work
from server.compare_sides import kept_side
from server.problems import Problem
from server.routes_heatmap import compute
from server.routes_history import KeptRun, Known
from server.run import Run
from server.runs import RunStore
from server.strict_json import StrictRoute

router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["runs"])

RunId = Annotated[str, Query(pattern=r"^[0-9a-f]{1,64}$")]


@router.get("/compare")
async def compare(a: RunId, b: RunId, request: Request) -> JSONResponse:
    """How far the outputs of two runs are apart: by value, in ULPs, and how many bits differ."""
    store: RunStore = request.app.state.store
    one, other = _finished(store, a), _finished(store, b)
    if not (one.seeded and other.seeded):
        raise Problem(422, "not-comparable", "a run of the caller's own arrays has no twin")
    if why := same_work(one.case, other.case):
        raise Problem(422, "not-comparable", why)

    def work() -> dict[str, Any]:
        found = differences(one.case, one.tensors, other.tensors)
        return {"a": a, "b": b, "outputs": {name: each.to_dict() for name, each in found.items()}}

    return JSONResponse(await compute(request, work, "compare"))


@router.get("/compare/sides/{run}")
def side(kept: KeptRun, history: Known) -> JSONResponse:
    """What a run of the history ran, as ``POST /api/runs`` and ``POST /api/benches`` take it."""
    found = kept_side(history, kept, with_tiles=False)  # the page tunes by itself
    return JSONResponse(
        {
            "label": found.label,
            "kernel": found.kernel,
            "shaders": found.options.get("shaders", {}),
            "own": found.options.get("own"),
            "notes": list(found.notes),
        }
    )


def _finished(store: RunStore, run_id: str) -> Run:
    run = store.get(run_id)
    if run is None:
        raise Problem(404, "unknown-run", f"there is no run {run_id!r}; it may have been evicted")
    if not run.finished:
        raise Problem(409, "wrong-state", f"run {run_id} is {run.state}, not finished")
    if not run.tensors:
        raise Problem(404, "no-tensor", f"run {run_id} keeps no outputs: not sent, or evicted")
    return run
