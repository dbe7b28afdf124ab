"""The page and the static files that it loads.

The types of files are listed here: ``mimetypes`` reads the machine's registry, and a Windows
registry that calls ``.js`` text/plain kills every module.
"""

from __future__ import annotations

import os
from pathlib import PurePath

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.templating import Jinja2Templates
from starlette.types import Receive, Scope, Send

from server import __version__
from server.paths import TEMPLATES
from server.security import HISTORY, PAGE

TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".md": "text/markdown",
    ".mjs": "text/javascript",
    ".npy": "application/octet-stream",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ts": "text/plain",  # declarations; elsewhere it is a video format
    ".txt": "text/plain",
    ".wasm": "application/wasm",
    ".wgsl": "text/wgsl",
}

router = APIRouter(include_in_schema=False)
templates = Jinja2Templates(directory=TEMPLATES)


@router.api_route("/", methods=["GET", "HEAD"])
async def root() -> RedirectResponse:
    return RedirectResponse(PAGE)


@router.api_route(PAGE, methods=["GET", "HEAD"])
def page(request: Request) -> Response:
    return templates.TemplateResponse(request, "webgpu-test.html", {"version": __version__})


@router.api_route(HISTORY, methods=["GET", "HEAD"])
def history(request: Request) -> Response:
    return templates.TemplateResponse(request, "history.html", {"version": __version__})


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The page names an SVG icon; browsers ask for this one all the same."""
    return Response(status_code=204)


class Static(StaticFiles):
    """Files with our types; without ranges, whose errors Starlette answers in plain text."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ranges = (b"range", b"if-range")
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in ranges]
        await super().__call__({**scope, "headers": headers}, receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code == 401:  # a file that this process may not read
                raise HTTPException(404) from None
            raise

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        suffix = PurePath(full_path).suffix.lower()
        response = FileResponse(
            full_path,
            status_code=status_code,
            stat_result=stat_result,
            media_type=TYPES.get(suffix, "application/octet-stream"),
            headers={"Accept-Ranges": "none"},
        )
        if self.is_not_modified(response.headers, Request(scope).headers):
            return NotModifiedResponse(response.headers)
        return response
