"""Runs: asked for by anyone, done by a page, read by anyone."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from server import own_cases, own_kernel, posted_inputs, shader_files, uploads
from server.cases import Case
from server.exports import npy
from server.outputs import OutputSpec
from server.problems import Problem
from server.run import Run
from server.runs import RunStore, summary
from server.schemas import DoneIn, ProgressIn, ReportOut, RunOut, RunRequest, RunsCreated
from server.settings import Settings
from server.strict_json import StrictRoute
from server.suites import suite
from server.task import QUEUED, SENT, WAITING

router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])


# Dependencies are coroutines, since FastAPI moves plain functions to other threads.


async def _store(request: Request) -> RunStore:
    store: RunStore = request.app.state.store
    return store


Store = Annotated[RunStore, Depends(_store)]


async def _run(run: str, store: Store) -> Run:
    found = store.get(run)
    if found is None:
        raise Problem(404, "unknown-run", f"there is no run {run[:40]!r}; it may have been evicted")
    return found


KnownRun = Annotated[Run, Depends(_run)]


def _must_be(state: str, run: Run) -> None:
    if run.state != state:
        raise Problem(409, "wrong-state", f"run {run.id} is {run.state}, not {state}")


async def _sent_run(run: KnownRun, store: Store) -> Run:
    """The run, which a page has; using this is the page's sign of life."""
    _must_be(SENT, run)
    store.heard(run)
    return run


SentRun = Annotated[Run, Depends(_sent_run)]


@router.post("", status_code=201)
async def create(
    body: RunRequest, request: Request, store: Store, response: Response
) -> RunsCreated:
    """Queues the runs of one case or one suite, for the page named or for any: all, or none."""
    if (body.case is None) == (body.suite is None):
        raise Problem(422, "invalid", "name either a case or a suite")
    own = None if body.own is None else own_kernel.checked(body.own.model_dump())
    shader_files.check(body.shaders, request.app.state.settings.static_dir)
    shaders = body.shaders
    if body.like is not None:
        like = await _run(body.like, store)
        gone = [name for name in like.dropped if name not in shaders]
        gone += like.dropped_own if own is None else ()
        if gone:
            raise _no_texts(like, gone)
        shaders, own = like.shaders | shaders, own or like.own
    if own is not None and body.suite == own_cases.SUITE:
        cases = own_cases.cases_for(own)
    else:
        cases = [Case.parse(body.case)] if body.case is not None else list(suite(body.suite or ""))
    if body.seed is not None:
        cases = [case.replace(seed=int(body.seed, 0)) for case in cases]
    if own is not None:
        cases = [own_kernel.in_place_of(case, body.kernel) for case in cases]
    elif body.kernel is not None:
        cases = [case.replace(kernel=body.kernel) for case in cases]
    limit = request.app.state.settings.max_queued
    if len(store.unfinished()) + len(cases) > limit:
        raise Problem(
            503, "queue-full", f"more than {limit} unfinished runs", headers={"Retry-After": "10"}
        )
    if body.posted:
        _admit_inputs(cases, store, request.app.state.settings)
    runs = store.submit_all(
        cases,
        page=body.page,
        kappa=body.kappa,
        timeout_s=body.timeout_s,
        asker=body.asker,
        posted=body.posted,
        shaders=shaders,
        own=own,
        trace=None if body.trace is None else body.trace.model_dump(exclude_none=True),
    )
    if len(runs) == 1:
        response.headers["Location"] = f"/api/runs/{runs[0].id}"
    return RunsCreated(runs=[run.id for run in runs], cases=[str(run.case) for run in runs])


def _no_texts(run: Run, gone: list[str]) -> Problem:
    """Those of a run's files that were let go to make room for newer runs', by name."""
    return Problem(
        410,
        "no-texts",
        f"run {run.id} ran {', '.join(gone)}, whose text is not kept any more: newer runs' "
        "texts took its place. Send the text again, or take it from the history, if one is kept: "
        f"fa2 repro {run.id}",
    )


def _admit_inputs(cases: list[Case], store: RunStore, settings: Settings) -> None:
    """Memory for arrays that clients send is bounded, however many runs they ask for."""
    held = sum(posted_inputs.size_bytes(run.case) for run in store.unfinished() if not run.seeded)
    size = sum(map(posted_inputs.size_bytes, cases))
    if held + size > settings.max_run_bytes:
        raise Problem(
            503,
            "queue-full",
            f"the inputs have {size} bytes, and {settings.max_run_bytes - held} are free for those "
            "of unfinished runs",
            headers={"Retry-After": "10"},
        )


@router.get("")
async def listing(store: Store) -> list[RunOut]:
    """Newest first."""
    return [RunOut(**summary(run)) for run in reversed(store.all())]


@router.get("/{run}")
async def read(run: KnownRun, wait: Annotated[float, Query(ge=0, le=30)] = 0) -> ReportOut | RunOut:
    """The report; until there is one, how far the run is. ``wait``: seconds to wait for it."""
    report = await run.wait(wait) if wait else run.report
    return RunOut(**summary(run)) if report is None else ReportOut(**report.to_dict())


@router.post("/{run}/cancel", status_code=204)
async def cancel(run: KnownRun, store: Store) -> None:
    if run.state not in (WAITING, QUEUED, SENT):
        raise Problem(409, "wrong-state", f"run {run.id} is {run.state}, too late to cancel")
    store.cancel(run.id)


@router.get("/{run}/inputs/{name}")
async def posted_input(run: SentRun, name: str) -> Response:
    """One of the caller's own arrays: raw little-endian bytes in canonical order."""
    array = (run.inputs or {}).get(name)
    if array is None:
        raise Problem(404, "unknown-tensor", f"run {run.id} has no posted input {name[:40]!r}")
    data = array.tobytes()
    headers = {"Content-Digest": uploads.content_digest(data)}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.put("/{run}/inputs/{name}", status_code=204)
async def put_input(run: KnownRun, name: str, request: Request, store: Store) -> None:
    """One of the arrays that a run waits for, whole and with its SHA-256, once."""
    _must_be(WAITING, run)
    if name not in run.awaiting or name in run.receiving:
        raise Problem(409, "wrong-state", f"run {run.id} does not wait for an input {name[:40]!r}")
    spec = posted_inputs.specs(run.case)[name]
    array = posted_inputs.read(spec, await _received(run, name, spec.bytes, request, WAITING))
    store.give_input(run, name, array)


@router.put("/{run}/tensors/{name}", status_code=204)
async def put_tensor(run: KnownRun, name: str, request: Request, store: Store) -> None:
    """One output: exactly the bytes that the case implies, with their SHA-256, once."""
    spec = _wanted(run, name)
    _must_be(SENT, run)
    store.heard(run)
    if name in run.uploads or name in run.receiving:
        raise Problem(409, "duplicate", f"{name} of run {run.id} has been sent before")
    run.take(name, await _received(run, name, spec.bytes, request, SENT))


async def _received(
    run: Run, name: str, size_bytes: int, request: Request, state: str
) -> bytearray:
    """The body of a request, which has a place in the run as long as that stays in ``state``."""
    timeout_s = request.app.state.settings.upload_s
    receiving = asyncio.ensure_future(uploads.receive(request, name, size_bytes, timeout_s))
    run.receiving[name] = receiving  # the run cancels it when it ends: by itself, or by Ctrl+C
    try:
        data = await receiving
    except asyncio.CancelledError:
        _must_be(state, run)
        raise
    finally:
        run.receiving.pop(name, None)
    _must_be(state, run)  # it may be judged already, without this
    return data


def _wanted(run: Run, name: str) -> OutputSpec:
    spec = run.want.get(name)
    if spec is None:
        known = ", ".join(run.want)
        raise Problem(404, "unknown-tensor", f"{run.case} has no tensor {name[:40]!r}, but {known}")
    return spec


@router.get("/{run}/tensors/{name}")
async def get_tensor(run: KnownRun, name: str) -> Response:
    """An output of a finished run as a ``.npy`` file."""
    _wanted(run, name)
    array = run.tensors.get(name)
    if array is None:
        if not run.finished:
            raise Problem(409, "wrong-state", f"run {run.id} is {run.state}, not finished")
        raise Problem(404, "no-tensor", f"run {run.id} keeps no {name}: not sent, or evicted")
    data = await asyncio.to_thread(npy, array)
    headers = {"Content-Disposition": f'attachment; filename="{run.id}-{name}.npy"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.post("/{run}/progress", status_code=204)
async def progress(run: SentRun, body: ProgressIn, store: Store) -> None:
    store.progressed(run, body.model_dump())


@router.post("/{run}/done")
async def done(run: SentRun, body: DoneIn, store: Store) -> ReportOut:
    """The page is done with the run. Answers with the report, once the judge has it."""
    store.done(run, body.to_done())
    report = await run.wait()
    assert report is not None, "without a limit it waits for one"
    return ReportOut(**report.to_dict())
