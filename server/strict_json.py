"""JSON bodies, read strictly: UTF-8, bounded size and depth, finite numbers, no key twice.

``json.loads`` accepts ``NaN``, ``1e999``, repeated keys and any depth; each has been somebody's
bug. The route class here makes FastAPI read bodies through :func:`parse`; models and OpenAPI stay
as usual.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from server.problems import Problem
from server.security import header

MAX_BYTES = 1 << 20  # edited shader texts; an adapter's limits, a compiler's messages
MAX_DEPTH = 16


def parse(data: bytes) -> Any:
    """The value of a JSON text. Problem 400 for anything that strict JSON is not."""
    try:
        return loads(data.decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError is one
        raise Problem(400, "bad-json", f"the body is not strict JSON: {error}") from None


def loads(text: str) -> Any:
    """The same of a text that is no body. Raises ValueError."""
    if _depth(text) > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels deep")
    return json.loads(
        text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_no_repeats
    )


def _depth(text: str) -> int:
    """The deepest nesting, counted before parsing: the parser recurses."""
    deepest = depth = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is beyond double precision")
    return value


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object repeats a key")
    return result


def content_length(request: Request) -> int | None:
    """The declared length in bytes, None without one. Problem 400 if it is no number."""
    text = header(request.scope, b"content-length")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Problem(400, "bad-request", "Content-Length is not a number of bytes")
    return int(text)


class StrictRequest(Request):
    """A request whose JSON is strict and whose body is bounded."""

    async def body(self) -> bytes:
        if hasattr(self, "_body"):
            return self._body
        too_long = Problem(413, "too-large", f"a JSON body may have {MAX_BYTES} bytes")
        if (content_length(self) or 0) > MAX_BYTES:
            raise too_long
        data = bytearray()
        async for chunk in self.stream():
            data += chunk
            if len(data) > MAX_BYTES:
                raise too_long
        if data:
            kind = (header(self.scope, b"content-type") or "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Problem(415, "not-json", "send the body with Content-Type: application/json")
        self._body = bytes(data)
        return self._body

    async def json(self) -> Any:
        return parse(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its JSON body through :class:`StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict
