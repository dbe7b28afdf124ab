"""One tensor from the wire into memory: exactly the bytes that the case implies, with their digest.

Nothing is parsed and nothing grows: the buffer is made once the declared length is right, and a
byte too many ends the request.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import re

from starlette.requests import Request

from server.problems import Problem
from server.security import header
from server.strict_json import content_length

_DIGEST = re.compile(r"\s*([a-z0-9-]+)=:([A-Za-z0-9+/=]*):\s*")


async def receive(request: Request, name: str, size_bytes: int, timeout_s: float) -> bytearray:
    """The body of a PUT, checked against its length and its Content-Digest.

    Problem 408 411 413 415 422; ``ClientDisconnect`` when the client goes away in between.
    """
    _check_type(request)
    _check_length(request, name, size_bytes)
    expected = _digest(request, name)
    body = bytearray(size_bytes)
    got = 0
    digest = hashlib.sha256()
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in request.stream():
                if got + len(chunk) > size_bytes:
                    raise _wrong_length(name, f"more than {size_bytes}", size_bytes, 413)
                body[got : got + len(chunk)] = chunk
                digest.update(chunk)
                got += len(chunk)
    except TimeoutError:
        raise Problem(
            408, "upload-timeout", f"{name}: {got} of {size_bytes} bytes in {timeout_s:g} s"
        ) from None
    if got != size_bytes:
        raise _wrong_length(name, str(got), size_bytes, 422)
    if not hmac.compare_digest(digest.digest(), expected):
        raise Problem(
            422, "wrong-digest", f"{name}: the bytes do not have the SHA-256 of Content-Digest"
        )
    return body


def _check_type(request: Request) -> None:
    kind = header(request.scope, b"content-type")
    if kind is not None and kind.strip().lower() != "application/octet-stream":
        raise Problem(415, "not-bytes", "send tensors with Content-Type: application/octet-stream")
    coding = header(request.scope, b"content-encoding")
    if coding is not None and coding.strip().lower() != "identity":
        raise Problem(415, "encoded", "send the bytes as they are, without Content-Encoding")


def _check_length(request: Request, name: str, size_bytes: int) -> None:
    declared = content_length(request)
    if declared is None or header(request.scope, b"transfer-encoding") is not None:
        raise Problem(411, "length-required", f"{name} needs Content-Length: {size_bytes}")
    if declared != size_bytes:
        status = 413 if declared > size_bytes else 422
        raise _wrong_length(name, str(declared), size_bytes, status)


def _wrong_length(name: str, got: str, size_bytes: int, status: int) -> Problem:
    kind = "too-large" if status == 413 else "wrong-length"
    return Problem(status, kind, f"{name} has {size_bytes} bytes in this case, not {got}")


def _digest(request: Request, name: str) -> bytes:
    """The SHA-256 of a Content-Digest header (RFC 9530), which may list other algorithms too."""
    wanted = "send Content-Digest: sha-256=:BASE64:"
    text = header(request.scope, b"content-digest")
    if text is None:
        raise Problem(422, "digest-required", f"{name}: {wanted}")
    for item in text.split(","):
        match = _DIGEST.fullmatch(item)
        if match is not None and match[1] == "sha-256":
            try:
                digest = base64.b64decode(match[2])
            except binascii.Error:
                break
            if len(digest) == hashlib.sha256().digest_size:
                return digest
            break
    raise Problem(422, "digest-malformed", f"{name}: {wanted}")


def content_digest(data: bytes) -> str:
    """The header value for ``data``.

    >>> content_digest(b"")
    'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'
    """
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"
