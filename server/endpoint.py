"""A browser that runs already, somewhere, and the address at which it reaches our server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from server.errors import CaseError
from server.settings import is_loopback

Way = Literal["cdp", "playwright-ws"]
_SCHEMES: dict[Way, tuple[str, ...]] = {
    "cdp": ("http", "https", "ws", "wss"),
    "playwright-ws": ("ws", "wss"),
}


@dataclass(frozen=True)
class Endpoint:
    """``url``: of a browser's DevTools (``cdp``), or of a Playwright server."""

    way: Way
    url: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in _SCHEMES[self.way] or not parts.hostname:
            schemes = ", ".join(f"{scheme}://" for scheme in _SCHEMES[self.way])
            raise CaseError(f"--{self.way} {self.url!r} must be a URL that begins with {schemes}")

    def __str__(self) -> str:
        """Without path and query, which may hold keys."""
        parts = urlsplit(self.url)
        return f"the browser at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@dataclass(frozen=True)
class Listening:
    """Where a harness's own server listens, and where its page is opened from afar.

    ``url`` is "" for a browser that reaches ``host`` and ``port`` as they are.
    """

    host: str = "127.0.0.1"
    port: int = 0
    url: str = ""

    @classmethod
    def read(cls, listen: str | None, serve_url: str | None) -> Listening:
        """From ``HOST:PORT`` and a URL. Raises CaseError for what is none, and for a URL that leads
        to another machine without a word on where to listen."""
        url = (serve_url or "").rstrip("/")
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = None
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise CaseError(f"--serve-url {serve_url!r} must be a URL such as https://host:8443")
        if listen is not None:
            host, colon, number = listen.rpartition(":")
            if not (colon and host and number.isdigit() and int(number) < 65536):
                raise CaseError(f"--listen {listen!r} must be HOST:PORT, as 127.0.0.1:8000")
            return cls(host.strip("[]"), int(number), url)
        if not url:
            return cls()
        if not is_loopback(parts.hostname or "") or port is None:
            raise CaseError(
                f"--serve-url {serve_url} leads somewhere; say with --listen HOST:PORT where this "
                "server is to listen so that it leads there"
            )
        return cls("127.0.0.1", port, url)

    @property
    def name(self) -> str | None:
        """What the Host header will say, if it is not this machine."""
        return urlsplit(self.url).hostname
