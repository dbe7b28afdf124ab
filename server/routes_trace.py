"""What the kernels of a finished run told of their state, beside float64.

``GET /api/runs/{run}/trace`` · ``…/trace/steps/{n}`` · ``…/trace.npz`` · ``…/trace/values.npy|csv``
· ``…/trace/told.npz``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from server import told_file, trace_report
from server.heatmap import HeatMap, safetensors
from server.problems import Problem
from server.report import Done
from server.routes_heatmap import compute
from server.routes_runs import KnownRun
from server.run import Arrays, Run
from server.strict_json import StrictRoute
from server.trace import Trace, trace_of
from server.trace_buffer import Words

router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])

BYTES = "application/octet-stream"

Told = tuple[Done, Words, Arrays | None]
"""Who told it, the records, and the caller's own inputs."""


@router.get("/{run}/trace")
async def read(run: KnownRun, request: Request) -> JSONResponse:
    """The state after each key tile, row by row, where it departs from the truth, and what dbg()
    told. The matrices are at ``trace/steps/{n}``.
    """
    told = _told(run)
    report = run.future.result()

    def work() -> dict[str, Any]:
        return trace_report.to_dict(_trace(run, told, request), run.case, report)

    return JSONResponse(await compute(request, work, "trace"))


@router.get("/{run}/trace/steps/{number}")
async def step(run: KnownRun, number: int, request: Request) -> Response:
    """S, P and O, or P, dP and dS, of one step as a safetensors file: ``S.actual``,
    ``S.expected``, ``S.allowed`` and ``S.ratio``, [rows, keys or channels].
    """
    told = _told(run)

    def work() -> bytes | None:
        steps = _trace(run, told, request).steps
        if not 0 <= number < len(steps):
            return None
        planes = trace_report.planes(steps[number])
        return safetensors(HeatMap(planes, {"title": steps[number].title}))

    data = await compute(request, work, "trace")
    if data is None:
        raise Problem(404, "unknown-step", f"the trace of run {run.id} has no step {number}")
    return _file(data, f"{run.id}-step{number}.safetensors")


@router.get("/{run}/trace.npz")
async def everything(run: KnownRun, request: Request) -> Response:
    """Every quantity of every step: ``tile0.S.actual``, ``dQ.dS.expected`` and so on."""
    return await _whole(run, request, trace_report.npz, "trace.npz")


@router.get("/{run}/trace/values.{kind}")
async def told_values(run: KnownRun, kind: Literal["npy", "csv"], request: Request) -> Response:
    """All that dbg() told."""
    write = trace_report.values_npy if kind == "npy" else trace_report.values_csv
    return await _whole(run, request, write, f"values.{kind}")


@router.get("/{run}/trace/told.npz")
async def as_told(run: KnownRun, request: Request) -> Response:
    """The records as the kernels wrote them (``words``, u32: trace_buffer.py) and the names of the
    kernels with hooks (``traced``), for a client that compares them itself.
    """
    done, words, _ = _told(run)
    data = await compute(request, lambda: told_file.write(words, done.traced), "trace")
    return _file(data, f"{run.id}-told.npz")


async def _whole(
    run: Run, request: Request, write: Callable[[Trace], bytes], name: str
) -> Response:
    told = _told(run)
    data = await compute(request, lambda: write(_trace(run, told, request)), "trace")
    return _file(data, f"{run.id}-{name}")


def _told(run: Run) -> Told:
    """All of it now: the run may be evicted before somebody computes. Problem 404 409 for one that
    has told nothing, or not yet.
    """
    if not run.finished:
        raise Problem(409, "wrong-state", f"run {run.id} is {run.state}, not finished")
    if run.told is None or run.done is None:
        raise Problem(
            404,
            "no-trace",
            f"run {run.id} keeps no trace: none was asked for, its kernels call no dbg(), it ended "
            "early, or the trace was evicted",
        )
    if not run.seeded and run.inputs is None and run.done.traced:
        raise Problem(404, "no-inputs", f"run {run.id} had the caller's own inputs, which are gone")
    return run.done, run.told, run.inputs


def _trace(run: Run, told: Told, request: Request) -> Trace:
    done, words, inputs = told

    def work() -> Trace:
        try:
            return trace_of(run.case, words, done.traced, run.kappa, inputs)
        except ValueError as error:
            raise Problem(422, "bad-trace", f"{error}") from None

    found: Trace = request.app.state.truths.get(("trace", run.id), work, _size)
    return found


def _size(trace: Trace) -> int:
    arrays = sum(
        4 * quantity.ratio.nbytes for step in trace.steps for quantity in step.quantities.values()
    )
    told = 5 * trace.told.bits.nbytes + (0 if trace.v is None else trace.v.nbytes)
    return arrays + 200 * len(trace.values) + told


def _file(data: bytes, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=BYTES, headers=headers)
