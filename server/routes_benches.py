"""Benchmarks: asked for by anyone, done by a page once the judge has passed the case."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from server import own_kernel, shader_files
from server.bench import Bench
from server.benches import BenchStore
from server.cases import Case
from server.problems import Problem
from server.schemas_benches import (
    BenchCreated,
    BenchDoneIn,
    BenchOut,
    BenchProgressIn,
    BenchRequest,
    BenchSummaryOut,
)
from server.strict_json import StrictRoute
from server.task import SENT

router = APIRouter(prefix="/api/benches", route_class=StrictRoute, tags=["benches"])


# Dependencies are coroutines, since FastAPI moves plain functions to other threads.


async def _store(request: Request) -> BenchStore:
    store: BenchStore = request.app.state.benches
    return store


Store = Annotated[BenchStore, Depends(_store)]


async def _bench(bench: str, store: Store) -> Bench:
    found = store.get(bench)
    if found is None:
        message = f"there is no benchmark {bench[:40]!r}; it may have been evicted"
        raise Problem(404, "unknown-bench", message)
    return found


KnownBench = Annotated[Bench, Depends(_bench)]


async def _sent_bench(bench: KnownBench, store: Store) -> Bench:
    """The benchmark, which a page has; using this is the page's sign of life."""
    if bench.state != SENT:
        raise Problem(409, "wrong-state", f"benchmark {bench.id} is {bench.state}, not {SENT}")
    store.heard(bench)
    return bench


SentBench = Annotated[Bench, Depends(_sent_bench)]


@router.post("", status_code=201)
async def create(
    body: BenchRequest, request: Request, store: Store, response: Response
) -> BenchCreated:
    """Queues the check of a case and its timing, for the page named or for any."""
    limit = request.app.state.settings.max_queued_benches
    if len(store.unfinished()) >= limit:
        headers = {"Retry-After": "10"}
        raise Problem(503, "queue-full", f"{limit} unfinished benchmarks", headers=headers)
    case = Case.parse(body.case)
    if body.seed is not None:
        case = case.replace(seed=int(body.seed, 0))
    shader_files.check(body.shaders, request.app.state.settings.static_dir)
    own = None if body.own is None else own_kernel.checked(body.own.model_dump())
    if own is not None:
        case = own_kernel.in_place_of(case, body.kernel)
    elif body.kernel is not None:
        case = case.replace(kernel=body.kernel)
    bench = store.submit(
        case,
        page=body.page,
        samples=body.samples,
        kappa=body.kappa,
        timeout_s=body.timeout_s,
        shaders=body.shaders,
        own=own,
    )
    response.headers["Location"] = f"/api/benches/{bench.id}"
    return BenchCreated(bench=bench.id, run=bench.run.id, case=str(case))


@router.get("")
async def listing(store: Store) -> list[BenchSummaryOut]:
    """Newest first, without their numbers."""
    return [BenchSummaryOut(**one.summary()) for one in reversed(store.all())]


@router.get("/{bench}")
async def read(bench: KnownBench) -> BenchOut:
    """How far it is; its numbers and the report of its check once it is finished."""
    return BenchOut(**bench.to_dict())


@router.post("/{bench}/cancel", status_code=204)
async def cancel(bench: KnownBench, store: Store) -> None:
    if bench.finished:
        message = f"benchmark {bench.id} is {bench.state}, too late to stop it"
        raise Problem(409, "wrong-state", message)
    store.cancel(bench.id)


@router.post("/{bench}/progress", status_code=204)
async def progress(bench: SentBench, body: BenchProgressIn) -> None:
    bench.alive(body.model_dump())


@router.post("/{bench}/done")
async def done(bench: SentBench, body: BenchDoneIn, store: Store) -> BenchOut:
    """The page is done. Answers with the numbers."""
    store.done(bench, body.to_done())
    return BenchOut(**bench.to_dict())
