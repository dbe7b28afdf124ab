"""Pages: their event streams, what they found, and what they may choose from."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.pages import Pages
from server.problems import Problem
from server.schemas import CasesOut, EnvironmentIn, Label, LabelIn, PageOut
from server.strict_json import StrictRoute
from server.suites import SUITES

KERNELS = "js/attention/kernels.json"

router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["pages"])

PageId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class EventStream(Response):
    """Opens the page's stream when the response begins and closes it however the response ends."""

    def __init__(self, pages: Pages, page: str, label: str, ping_s: float) -> None:
        super().__init__()
        self._pages, self._page, self._label, self._ping_s = pages, page, label, ping_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = self._pages.open(self._page, self._label)
        try:
            await stream.respond(scope, receive, send, ping_s=self._ping_s)
        finally:
            self._pages.close(self._page, stream)


@router.get("/pages/{page}/jobs")
async def jobs(
    page: PageId, request: Request, label: Annotated[Label, Query()] = ""
) -> EventStream:
    """Server-sent events ``job``, ``cancel``, ``verdict``, ``replaced`` and ``bye``."""
    ping_s: float = request.app.state.settings.ping_s
    return EventStream(request.app.state.pages, page, label.strip(), ping_s)


@router.post("/pages/{page}/environment", status_code=204)
async def environment(page: PageId, body: EnvironmentIn, request: Request) -> None:
    """What the page found on its way to a device."""
    request.app.state.pages.set_environment(page, body.model_dump())


@router.post("/pages/{page}/label", status_code=204)
async def label(page: PageId, body: LabelIn, request: Request) -> None:
    """What people call the page from now on."""
    found = request.app.state.pages.get(page)
    if found is None:
        raise Problem(404, "unknown-page", f"there is no page {page!r}")
    found.label = body.label.strip()


@router.get("/pages")
async def pages(request: Request) -> list[PageOut]:
    """Oldest first."""
    return [
        PageOut(
            page=page.id,
            label=page.label,
            connected=page.stream is not None,
            idle=page.idle,
            run=page.task.id if page.task else None,
            doing=page.task.title if page.task else None,
            environment=page.environment,
        )
        for page in request.app.state.pages.all()
    ]


@router.get("/cases")
async def cases() -> CasesOut:
    """The suites and the cases in them."""
    return CasesOut(suites={name: [str(case) for case in suite] for name, suite in SUITES.items()})


@router.get("/kernels")
def kernels(request: Request) -> Any:
    """The registry of kernels, as the library reads it."""
    path: FilePath = request.app.state.settings.static_dir / KERNELS
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise Problem(404, "no-registry", f"this installation has no {KERNELS}") from None
