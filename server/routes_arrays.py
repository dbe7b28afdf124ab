"""Every array of a finished run as a file: ``/arrays/{name}`` (.npy) and ``/run.npz`` (all)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from server.exports import array_of, names_of, npy, npy_bytes, npz_bytes, write_npz
from server.judged_parts import Subject
from server.problems import Problem
from server.routes_heatmap import compute, subject_of
from server.routes_runs import KnownRun
from server.run import Run
from server.strict_json import StrictRoute

router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])

CHUNK_BYTES = 1 << 20


def _any_subject(run: Run, request: Request) -> Subject:
    """The run by whatever output it keeps."""
    return subject_of(run, next(iter(run.tensors), "output"), request)


@router.get("/{run}/arrays")
async def listing(run: KnownRun, request: Request) -> list[str]:
    """The names of the arrays that can be had: inputs, outputs, truth, bounds and differences."""
    return names_of(_any_subject(run, request))


@router.get("/{run}/arrays/{name}")
async def array(run: KnownRun, name: str, request: Request) -> Response:
    """One array as a ``.npy`` file. Truth and bounds are float64, NaN where nothing was judged."""
    subject = _any_subject(run, request)
    known = names_of(subject)
    if name not in known:
        raise Problem(
            404, "unknown-tensor", f"run {run.id} has no {name[:40]!r}, but {', '.join(known)}"
        )
    limit = request.app.state.settings.max_npz_bytes

    def work() -> bytes:
        _must_fit(npy_bytes(subject, name), limit, f"{name} of run {run.id} takes")
        return npy(array_of(subject, name))

    data = await compute(request, work, "array")
    return Response(data, media_type="application/octet-stream", headers=_named(f"{name}.npy", run))


@router.get("/{run}/run.npz")
async def everything(run: KnownRun, request: Request) -> Response:
    """All of a run as one ``.npz``: inputs, outputs, truth, bounds, and the report as a member."""
    subject, report = _any_subject(run, request), run.report
    assert report is not None  # it is finished
    limit = request.app.state.settings.max_npz_bytes

    def work() -> IO[bytes]:
        _must_fit(
            npz_bytes(subject),
            limit,
            f"all arrays of run {run.id} take",
            "take them one by one from /arrays, or ",
        )
        # Without a name on disk, and gone when it is closed.
        file = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            write_npz(file, subject, report)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return file

    file = await compute(request, work, "npz")
    return StreamingResponse(
        _chunks(file),
        media_type="application/zip",
        headers=_named("run.npz", run),
        background=BackgroundTask(file.close),
    )


def _must_fit(size_bytes: int, limit: int, whose: str, instead: str = "") -> None:
    if size_bytes > limit:
        raise Problem(
            413,
            "too-large",
            f"{whose} {size_bytes} bytes, one file at most {limit}; {instead}raise "
            "FA2_MAX_NPZ_BYTES",
        )


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _named(name: str, run: Run) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{run.id}-{name}"'}
