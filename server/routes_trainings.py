"""Trainings: asked for by anyone, done by a page beside NumPy, read by anyone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from server.problems import Problem
from server.schemas_trainings import (
    StepsIn,
    TrainingCreated,
    TrainingDoneIn,
    TrainingOut,
    TrainingProgressIn,
    TrainingRequest,
    TrainingSummaryOut,
)
from server.strict_json import StrictRoute
from server.task import SENT
from server.training import Training
from server.training_spec import TrainingSpec
from server.trainings import TrainingStore

router = APIRouter(prefix="/api/trainings", route_class=StrictRoute, tags=["trainings"])


# Dependencies are coroutines, since FastAPI moves plain functions to other threads.


async def _store(request: Request) -> TrainingStore:
    store: TrainingStore = request.app.state.trainings
    return store


Store = Annotated[TrainingStore, Depends(_store)]


async def _training(training: str, store: Store) -> Training:
    found = store.get(training)
    if found is None:
        message = f"there is no training {training[:40]!r}; it may have been evicted"
        raise Problem(404, "unknown-training", message)
    return found


KnownTraining = Annotated[Training, Depends(_training)]


async def _sent_training(training: KnownTraining, store: Store) -> Training:
    """The training, which a page has; using this is the page's sign of life."""
    if training.state != SENT:
        message = f"training {training.id} is {training.state}, not {SENT}"
        raise Problem(409, "wrong-state", message)
    store.heard(training)
    return training


SentTraining = Annotated[Training, Depends(_sent_training)]


@router.post("", status_code=201)
async def create(
    body: TrainingRequest, request: Request, store: Store, response: Response
) -> TrainingCreated:
    """Queues a training, for the page named or for any."""
    spec = TrainingSpec.of(
        body.preset,
        gate=body.gate,
        attention=body.attention,
        seed=int(body.seed, 0),
        steps=body.steps,
        context=body.context,
    )
    limit = request.app.state.settings.max_queued_trainings
    if len(store.unfinished()) >= limit:
        headers = {"Retry-After": "10"}
        raise Problem(503, "queue-full", f"{limit} unfinished trainings", headers=headers)
    training = store.submit(spec, page=body.page)
    response.headers["Location"] = f"/api/trainings/{training.id}"
    return TrainingCreated(training=training.id)


@router.get("")
async def listing(store: Store) -> list[TrainingSummaryOut]:
    """Newest first, without their losses."""
    return [TrainingSummaryOut(**one.summary()) for one in reversed(store.all())]


@router.get("/{training}")
async def read(training: KnownTraining) -> TrainingOut:
    """Losses of both sides, and the verdict once there is one."""
    return TrainingOut(**training.to_dict())


@router.post("/{training}/cancel", status_code=204)
async def cancel(training: KnownTraining, store: Store) -> None:
    if training.finished:
        message = f"training {training.id} is {training.state}, too late to stop it"
        raise Problem(409, "wrong-state", message)
    store.cancel(training.id)


@router.post("/{training}/steps", status_code=204)
async def steps(training: SentTraining, body: StepsIn) -> None:
    """Losses and times of the steps that follow those sent before."""
    expected = len(training.losses) + 1
    if body.first != expected:
        kind = "duplicate" if body.first < expected else "missing-steps"
        message = f"step {expected} is next, not step {body.first}"
        raise Problem(409, kind, message)
    last = body.first + len(body.losses) - 1
    if last > training.spec.steps:
        raise Problem(422, "invalid", f"step {last} of {training.spec.steps}")
    training.took(body.numbers(), [float(ns) for ns in body.elapsed_ns])


@router.post("/{training}/progress", status_code=204)
async def progress(training: SentTraining, body: TrainingProgressIn) -> None:
    training.progress = body.model_dump()


@router.post("/{training}/done")
async def done(training: SentTraining, body: TrainingDoneIn, store: Store) -> TrainingOut:
    """The page is done. Answers with the verdict, once NumPy is done as well."""
    store.done(training, body.to_done())
    await training.wait()
    return TrainingOut(**training.to_dict())
