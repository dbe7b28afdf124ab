"""Errors on the wire: RFC 9457 problem documents, the same for every route.

``{"type": "urn:fa2:problem:unknown-run", "title": …, "status": 404, "detail": …}``; ``type`` is
stable and meant for programs, ``detail`` for people. No stack trace leaves the process: what was
not foreseen is logged here and answered by a bare 500.
"""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.errors import HarnessError, HistoryError, PageError

log = logging.getLogger("server")

_BY_STATUS = {
    400: "bad-request",
    401: "token-required",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    500: "internal",
}


class Problem(HTTPException):
    """An answer that is an error; raise it anywhere below a route.

    An ``HTTPException``, since FastAPI turns every other exception raised while a body is read into
    a bare 400.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(status, detail, headers)
        self.kind, self.more = kind, more

    def response(self) -> Response:
        body = {
            "type": f"urn:fa2:problem:{self.kind}",
            "title": http.HTTPStatus(self.status_code).phrase,
            "status": self.status_code,
            "detail": self.detail,
            **self.more,
        }
        return JSONResponse(
            body,
            status_code=self.status_code,
            headers=dict(self.headers or {}),
            media_type="application/problem+json",
        )


async def _problem(_request: Request, exc: Exception) -> Response:
    assert isinstance(exc, Problem)
    return exc.response()


async def _http(request: Request, exc: Exception) -> Response:
    """What Starlette raises by itself: unknown paths and methods."""
    assert isinstance(exc, HTTPException)
    kind = _BY_STATUS.get(exc.status_code, "http")
    detail = f"{request.method} {request.url.path}: {exc.detail}"
    return Problem(exc.status_code, kind, detail, headers=exc.headers).response()


async def _invalid(_request: Request, exc: Exception) -> Response:
    """A well-formed body or parameter that says the wrong thing. The input is not echoed."""
    assert isinstance(exc, RequestValidationError)
    errors = [
        {"where": "/".join(str(part) for part in error["loc"]), "detail": error["msg"]}
        for error in exc.errors()
    ]
    detail = "; ".join(f"{error['where']}: {error['detail']}" for error in errors[:3])
    return Problem(422, "invalid", detail, errors=errors[:20]).response()


async def _harness(_request: Request, exc: Exception) -> Response:
    """Our own refusals: a case that breaks the grammar, a server that has stopped."""
    assert isinstance(exc, HarnessError)
    status = 503 if isinstance(exc, PageError | HistoryError) else 422
    return Problem(status, exc.kind, exc.message).response()


def install(app: FastAPI) -> None:
    """Every error that a route can end in becomes a problem document."""
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HarnessError, _harness)


class CatchAll:
    """Turns what nothing below has caught into a 500 without details.

    It stands inside the middleware that sets the security headers. Starlette's own last resort
    stands outside of all added middleware, so its 500 would go without them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except ClientDisconnect:
            log.info("%s %s: the client went away", scope.get("method"), scope["path"])
        except Exception:
            if scope["type"] != "http" or started:
                raise
            log.exception("%s %s failed", scope["method"], scope["path"])
            problem = Problem(500, "internal", "the server failed; its log has the reason")
            await problem.response()(scope, receive, send)
