"""The app factory: settings in, FastAPI out. No global state: apps may live side by side."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from fastapi import FastAPI

from server import (
    __version__,
    problems,
    routes_arrays,
    routes_benches,
    routes_compare,
    routes_heatmap,
    routes_history,
    routes_pages,
    routes_runs,
    routes_shaders,
    routes_trace,
    routes_trainings,
    routes_tuned,
    site,
)
from server.benches import BenchStore
from server.history import History
from server.history_writer import HistoryWriter
from server.pages import Pages
from server.problems import CatchAll
from server.reaper import reap_forever
from server.runs import RunStore
from server.schemas import ProblemOut
from server.security import HostGuard, OriginGuard, SecurityHeaders, TokenGuard
from server.settings import Settings
from server.shader_watch import ShaderWatch
from server.trainings import TrainingStore
from server.truths import Truths


def create_app(settings: Settings | None = None) -> FastAPI:
    """An app with ``state.settings``, ``state.pages``, ``state.store``, ``state.trainings`` and
    ``state.benches``.

    Raises ``ValueError`` (from Settings) for a remote host that was not allowed.
    """
    settings = settings if settings is not None else Settings()
    pages = Pages(settings)
    store, trainings = RunStore(settings, pages), TrainingStore(settings, pages)
    benches = BenchStore(settings, pages, store)
    writer = _history_writer(settings, store, benches, trainings)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        store.start()
        trainings.start()
        benches.start()
        reaping = reap_forever([store, trainings, benches], pages, settings)
        tasks = [asyncio.create_task(reaping, name="reaper")]
        if settings.watch_shaders:
            watch = ShaderWatch(settings.static_dir, pages)
            tasks.append(asyncio.create_task(watch.run(), name="shader-watch"))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            close(app)

    app = FastAPI(
        title="webgpu-fa2",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # both load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        responses={"default": {"model": ProblemOut, "description": "any error"}},
    )
    app.state.settings, app.state.pages = settings, pages
    app.state.store, app.state.trainings, app.state.benches = store, trainings, benches
    app.state.history_writer = writer
    app.state.history = None if settings.history is None else History(settings.history)
    app.state.heatmaps = routes_heatmap.slots()
    app.state.truths = Truths(settings.max_truth_bytes)
    problems.install(app)
    app.include_router(site.router)
    app.include_router(routes_pages.router)
    app.include_router(routes_runs.router)
    app.include_router(routes_shaders.router)
    app.include_router(routes_heatmap.router)
    app.include_router(routes_trace.router)
    app.include_router(routes_arrays.router)
    app.include_router(routes_compare.router)
    app.include_router(routes_trainings.router)
    app.include_router(routes_benches.router)
    app.include_router(routes_tuned.router)
    app.include_router(routes_history.router)
    app.mount("/static", site.Static(directory=settings.static_dir), name="static")
    _guard(app, settings)
    return app


def close(app: FastAPI) -> None:
    """Ends every stream and whatever is unfinished. Call it on the app's loop; twice is fine."""
    app.state.pages.shutdown()
    app.state.benches.stop()
    app.state.store.stop()
    app.state.trainings.stop()
    if app.state.history_writer is not None:  # after what the stores have just ended
        app.state.history_writer.close()


def _history_writer(
    settings: Settings, store: RunStore, benches: BenchStore, trainings: TrainingStore
) -> HistoryWriter | None:
    """What writes down whatever is finished, where there is to be a history."""
    if settings.history is None:
        return None
    writer = HistoryWriter(
        settings.history,
        origin=settings.origin,
        static=settings.static_dir,
        launched=settings.launched,
    )
    store.observers.append(writer.observe_run)
    benches.observers.append(writer.observe_bench)
    trainings.observers.append(writer.observe_training)
    return writer


def _guard(app: FastAPI, settings: Settings) -> None:
    """The layers around the routes. What is added last stands outermost."""
    token = settings.token.get_secret_value() if settings.token else None
    if token is not None:
        app.add_middleware(TokenGuard, token=token)
    app.add_middleware(OriginGuard, token=token is not None)
    app.add_middleware(HostGuard, names=_names(settings), any_address=not settings.loopback)
    app.add_middleware(CatchAll)
    app.add_middleware(SecurityHeaders)


def _names(settings: Settings) -> set[str]:
    """What the Host header may say."""
    names = {"localhost", "127.0.0.1", "::1", settings.host, *settings.allowed_hosts}
    if not settings.loopback:
        names.add(socket.gethostname())
    return names
