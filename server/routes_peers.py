"""The page that runs other libraries beside ours, and its routes. No server has them by itself:
``install`` adds them to the private one of `fa2 bench --peers`, for as long as that runs.

The page alone may compile WebAssembly (``'wasm-unsafe-eval'``), which onnxruntime-web is made of;
every other rule of the strict policy stands, and every file comes from here.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import peers_check, peers_lock, peers_onnx, uploads
from server.daemon import in_daemon_thread
from server.paths import TEMPLATES
from server.peers_comparison import OURS, Comparison
from server.problems import Problem
from server.schemas_peers import ComparisonDoneIn, PeerProgressIn
from server.security import CSP
from server.site import TYPES
from server.strict_json import StrictRoute

PAGE = "/peers-bench"
FILES = "/peers"
PEERS_CSP = CSP.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")

router = APIRouter(route_class=StrictRoute, include_in_schema=False)


class Desk:
    """The comparison that is waiting or under way, if any, and the folder of the peers' files."""

    def __init__(self, folder: Path, peers: list[str]) -> None:
        self.current: Comparison | None = None
        self.files = {
            f"{package.name}/{name}": folder / package.name / name
            for package in peers_lock.of(peers)
            for name in package.files
        }


class Policy:
    """Gives the page of the comparison its own Content-Security-Policy: the outermost layer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = PEERS_CSP
            await send(message)

        ours = scope["type"] == "http" and scope["path"] == PAGE
        await self.app(scope, receive, with_policy if ours else send)


def install(app: FastAPI, folder: Path, peers: list[str]) -> Desk:
    """Adds page, files and routes to an app that has not been started yet."""
    app.state.peers = desk = Desk(folder, peers)
    app.include_router(router)
    app.add_middleware(Policy)
    return desk


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.peers
    return desk


TheDesk = Annotated[Desk, Depends(_desk)]


async def _current(comparison: str, desk: TheDesk) -> Comparison:
    """The comparison under way; using this is the page's sign of life."""
    current = desk.current
    if current is None or current.id != comparison or current.future.done():
        raise Problem(404, "unknown-comparison", f"no comparison {comparison[:40]!r} is under way")
    current.heard()
    return current


Current = Annotated[Comparison, Depends(_current)]


@router.get(PAGE)
async def page() -> Response:
    return FileResponse(TEMPLATES / "peers-bench.html", media_type="text/html")


@router.get(FILES + "/{path:path}")
async def file(path: str, desk: TheDesk) -> Response:
    """A file that the lock names; nothing else of the folder."""
    found = desk.files.get(path)
    if found is None or not found.is_file():
        raise HTTPException(404)
    return FileResponse(found, media_type=TYPES.get(found.suffix, "application/octet-stream"))


@router.get("/api/peers/job", response_model=None)
async def job(desk: TheDesk) -> Response | dict[str, Any]:
    """The comparison that waits for the page; 204 as long as there is none."""
    current = desk.current
    if current is None or current.given or current.future.done():
        return Response(status_code=204)
    current.given = True
    current.heard("starting")
    models = {"ort": f"/api/peers/{current.id}/model"} if "ort" in current.peers else {}
    return current.job(models)


@router.get("/api/peers/{comparison}/model")
async def model(current: Current) -> Response:
    """The case as an ONNX model of one node."""
    data = peers_onnx.attention(current.case)
    return Response(data, media_type="application/octet-stream")


@router.put("/api/peers/{comparison}/outputs/{subject}/{name}", status_code=204)
async def output(current: Current, subject: str, name: str, request: Request) -> None:
    """One output of ours or of a peer: exactly the bytes that the case implies."""
    spec = peers_check.wanted(current.case).get(name)
    if spec is None or subject not in (OURS, *current.peers):
        raise Problem(404, "unknown-tensor", f"{subject[:40]!r} has no output {name[:40]!r} here")
    timeout_s = request.app.state.settings.upload_s
    current.take(subject, name, await uploads.receive(request, name, spec.bytes, timeout_s))


@router.post("/api/peers/{comparison}/check/{subject}")
async def check(current: Current, subject: str) -> dict[str, Any]:
    """Judges the outputs of ours or of a peer, all of which have been sent."""
    missing = peers_check.wanted(current.case).keys() - current.tensors.get(subject, {}).keys()
    if missing:
        raise Problem(409, "wrong-state", f"{subject[:40]!r}: {', '.join(missing)} was not sent")
    found = await in_daemon_thread(lambda: current.check(subject), name=f"check-{subject}")
    current.heard()
    return found.to_dict()


@router.post("/api/peers/{comparison}/progress", status_code=204)
async def progress(current: Current, body: PeerProgressIn) -> None:
    current.heard(body.phase)


@router.post("/api/peers/{comparison}/done", status_code=204)
async def done(current: Current, body: ComparisonDoneIn) -> None:
    """The page is done, well or not."""
    await asyncio.to_thread(current.finish, body.to_done())
