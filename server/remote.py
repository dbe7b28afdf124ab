"""A client of a running `fa2 serve`: its pages, and runs on one of them.

It stands where a server of this process would stand, so a Harness works the same on a page that a
person opened on a phone. Nothing is downloaded but reports, and the outputs of the caller's own
arrays.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qs

from server.address import parts_of, shown
from server.errors import CaseError, HarnessError, NoBrowser, PageError
from server.settings import DEFAULT_PORT

ANSWER_S = 15.0


class Refused(PageError):
    """The server answered, but not as was hoped; ``status`` is HTTP's."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(NoBrowser):
    """Nobody answers at the server's address, so there are no pages."""


class Remote:
    """``url``: the address that `fa2 serve` printed, with or without path and token.

    None means FA2_PORT on this machine, and port 8000 without it. ``token`` comes from here, the
    URL, or FA2_TOKEN. Certificates are checked against the system's, or SSL_CERT_FILE's.

    Raises CaseError for what is no such URL.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        given = url or f"http://127.0.0.1:{os.environ.get('FA2_PORT') or DEFAULT_PORT}"
        parts = _parts(given)
        if parts is None:
            said = f"--server {shown(url)!r}" if url else f"FA2_PORT={os.environ.get('FA2_PORT')!r}"
            rule = (
                "a URL such as http://127.0.0.1:8000 or the one that `fa2 serve` printed"
                if url
                else "a port from 1 to 65535; or name the whole address with --server URL"
            )
            raise CaseError(f"{said} must be {rule}")
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        printed = parse_qs(parts.query).get("token", [None])[0]
        self._token = token or printed or os.environ.get("FA2_TOKEN")
        handlers: list[Any] = [urllib.request.ProxyHandler({}), _NoRedirects()]
        if parts.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context()))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, timeout_s: float = ANSWER_S) -> Any:
        return json.loads(self.send("GET", path, timeout_s=timeout_s))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        answer = self.send("POST", path, data, kind)
        return json.loads(answer) if answer else None

    def send(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = ANSWER_S,
    ) -> bytes:
        """The body of a successful answer. Raises Refused, Unreachable, CaseError (the token)."""
        request = urllib.request.Request(self.url + path, data, dict(headers or {}), method=method)
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=timeout_s) as answer:
                body: bytes = answer.read()
                return body
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error.code, error.read()) from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            # Refused, reset, timed out, no TLS, a bad certificate, an answer that breaks off.
            raise Unreachable(self._silence(error)) from None

    def _refusal(self, status: int, body: bytes) -> HarnessError:
        try:
            detail = str(json.loads(body)["detail"])
        except (ValueError, KeyError, TypeError):
            return NoBrowser(
                f"{self.url} answered HTTP {status}, and not as `fa2 serve` does; --server names "
                "the address that it printed"
            )
        if status == 401:
            return CaseError(
                f"{self.url} asks for its token: pass the whole URL that it printed as --server, "
                "or --token, or FA2_TOKEN"
            )
        return Refused(f"{self.url}: {detail}", status)

    def _silence(self, error: Exception) -> str:
        reason = getattr(error, "reason", error)
        hint = ""
        if isinstance(reason, ssl.SSLCertVerificationError):
            hint = "; SSL_CERT_FILE=FILE names the certificate that signed it"
        elif isinstance(reason, ssl.SSLError):
            hint = "; is it http:// and not https://?"
        elif isinstance(reason, ConnectionRefusedError):
            hint = "; start it with `fa2 serve`, or name another one with --server URL"
        return f"no answer from {self.url}: {reason}{hint}"


def _parts(given: str) -> SplitResult | None:
    return parts_of(given if "://" in given else f"http://{given}", ("http", "https"))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """An API that redirects is not ours, and a token must not travel on."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
