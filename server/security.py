"""Who may talk to the server: four pure ASGI layers, outermost first.

``SecurityHeaders``   what every response tells the browser, errors and static files too
``HostGuard``         the Host header names this server (a rebound DNS name does not)
``OriginGuard``       no other web site, nor another port of this machine, reads or starts anything
``TokenGuard``        only when a token is set: nobody without it gets anything at all

Listening on loopback is no defence by itself: every page open in the browser can send requests
here. A plain class instead of ``BaseHTTPMiddleware`` because the latter wraps streams in tasks of
its own.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.problems import Problem

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
PAGE = "/webgpu-test"
HISTORY = "/history"
_NAVIGABLE = frozenset({"/", PAGE, HISTORY, "/favicon.ico"})
_AUTHORITY = re.compile(
    r"(?P<name>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)"
    r"(?::(?P<port>[0-9]{1,5}))?"
)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#@\s]+)")
_DEFAULT_PORT = {"http": "80", "https": "443"}


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header that may appear once. Problem 400 when it appears more often."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    if len(values) > 1:
        raise Problem(400, "bad-request", f"{name.decode()} appears {len(values)} times, not once")
    return values[0].decode("latin-1") if values else None


def parse_authority(text: str) -> tuple[str, str] | None:
    """``host[:port]`` as (name in lower case without brackets, port or ""); None if malformed."""
    match = _AUTHORITY.fullmatch(text)
    if match is None or int(match["port"] or 0) > 65535:
        return None
    name = match["name"].lower().strip("[]")
    if match["name"].startswith("["):
        try:
            name = ipaddress.IPv6Address(name).compressed
        except ValueError:
            return None
    return name, match["port"] or ""


class SecurityHeaders:
    """Sets ``HEADERS`` on every response, and a cache rule where the route has set none."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        # A changed shader or module must be seen at the next reload; results are nobody's to keep.
        cache = "no-cache" if scope["path"].startswith("/static/") else "no-store"

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", cache)
            await send(message)

        await self.app(scope, receive, with_headers)


class _Guard:
    """A layer that answers with a problem document instead of passing a request on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # nothing here speaks it
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        app = self.app
        if scope["type"] == "http":
            try:
                app = self.admit(scope) or app
            except Problem as problem:
                app = problem.response()
        await app(scope, receive, send)

    def admit(self, scope: Scope) -> ASGIApp | None:
        """None lets the request pass; an app answers it here; a raised Problem refuses it."""
        raise NotImplementedError


class HostGuard(_Guard):
    """400 unless the Host header is one of ours, before any routing."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str], any_address: bool) -> None:
        super().__init__(app)
        self.names = frozenset(name.lower().strip("[]") for name in names)
        # Bound to every interface, the machine's own addresses are not known here. A numeric
        # address cannot be rebound, so it needs no list.
        self.any_address = any_address

    def admit(self, scope: Scope) -> None:
        host = header(scope, b"host")
        parsed = parse_authority(host) if host else None
        if parsed is None:
            raise Problem(400, "bad-host", "the Host header is missing or malformed")
        if parsed[0] not in self.names and not (self.any_address and _is_address(parsed[0])):
            raise Problem(
                400,
                "bad-host",
                f"this server does not answer to the name {parsed[0]!r}; "
                "use the printed URL, or allow the name with FA2_ALLOWED_HOSTS",
            )


class OriginGuard(_Guard):
    """403 for what another origin caused. Navigation to the page and static files are exempt:
    the first is how links work, the second are public and carry CORP.
    """

    def __init__(self, app: ASGIApp, *, token: bool) -> None:
        super().__init__(app)
        self.token = token

    def admit(self, scope: Scope) -> None:
        path = scope["path"]
        if path in _NAVIGABLE or path.startswith("/static/"):
            return
        site = header(scope, b"sec-fetch-site")
        origin = header(scope, b"origin")
        if site is not None:
            if site not in ("same-origin", "none"):
                raise Problem(403, "cross-origin", f"refused: Sec-Fetch-Site is {site[:40]!r}")
        elif origin is not None:
            if not _same_authority(origin, header(scope, b"host") or ""):
                raise Problem(403, "cross-origin", f"refused: Origin {origin[:80]!r} is not Host")
        elif self.token and not self._read_or_bearer(scope):
            raise Problem(403, "cross-origin", "refused: neither Origin nor Authorization")

    @staticmethod
    def _read_or_bearer(scope: Scope) -> bool:
        """What may come from afar without any word on its origin.

        On a plain-http LAN address browsers omit both headers on same-origin reads; TokenGuard
        asks those for the cookie. Writes always carry an Origin there, or a client's token.
        """
        read = scope["method"] in ("GET", "HEAD")
        return read or header(scope, b"authorization") is not None


class TokenGuard(_Guard):
    """401 on every route, static files included, without the token or the cookie bought with it.

    ``GET /webgpu-test?token=…`` sets the cookie and redirects to the same URL without the token.
    The cookie's name holds the port, since browsers do not separate cookies by port, and its value
    is a digest, so that a stolen cookie jar does not hold the token.
    """

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        super().__init__(app)
        self.token = token.encode()
        self.cookie = hmac.new(self.token, b"fa2 cookie", hashlib.sha256).hexdigest()

    def admit(self, scope: Scope) -> ASGIApp | None:
        name = f"fa2_token_{(scope.get('server') or ('', 0))[1]}"
        query = scope["query_string"].decode("latin-1")
        given = [part[6:] for part in query.split("&") if part.startswith("token=")]
        if given and scope["path"] in ("/", PAGE) and scope["method"] in ("GET", "HEAD"):
            if _equal(given[0], self.token):
                return self._exchange(scope, name, query)
            raise self._refusal()
        authorization = header(scope, b"authorization")
        if authorization is not None:  # it alone counts: see OriginGuard
            scheme, _, value = authorization.partition(" ")
            if scheme.lower() == "bearer" and _equal(value.strip(), self.token):
                return None
            raise self._refusal()
        for value in _cookies(scope, name):
            if _equal(value, self.cookie.encode()):
                return None
        raise self._refusal()

    def _exchange(self, scope: Scope, name: str, query: str) -> ASGIApp:
        rest = "&".join(part for part in query.split("&") if not part.startswith("token="))
        response = RedirectResponse(PAGE + (f"?{rest}" if rest else ""), status_code=303)
        secure = scope.get("scheme") == "https"
        response.set_cookie(name, self.cookie, httponly=True, samesite="strict", secure=secure)
        return response

    def _refusal(self) -> Problem:
        return Problem(
            401,
            "token-required",
            "open the URL that was printed at start, it carries the token; "
            "clients send it as Authorization: Bearer",
            headers={"WWW-Authenticate": 'Bearer realm="fa2"'},
        )


def _equal(given: str, secret: bytes) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret)


def _cookies(scope: Scope, name: str) -> Iterable[str]:
    for key, value in scope["headers"]:
        if key.lower() == b"cookie":
            found = cookie_parser(value.decode("latin-1")).get(name)
            if found is not None:
                yield found


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same_authority(origin: str, host: str) -> bool:
    """Whether an Origin names the Host. A missing port is the default of the origin's scheme."""
    match = _ORIGIN.fullmatch(origin)
    if match is None:
        return False
    default = _DEFAULT_PORT[match["scheme"]]
    theirs, ours = parse_authority(match["authority"]), parse_authority(host)
    if theirs is None or ours is None:
        return False
    return (theirs[0], theirs[1] or default) == (ours[0], ours[1] or default)
