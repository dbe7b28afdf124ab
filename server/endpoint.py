"""A browser that runs already, somewhere, and the address at which it reaches our server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from server.address import parts_of, shown
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
        if parts_of(self.url, _SCHEMES[self.way]) is None:
            schemes = ", ".join(f"{scheme}://" for scheme in _SCHEMES[self.way])
            raise CaseError(
                f"--{self.way} {shown(self.url)!r} must be a URL that begins with {schemes}"
            )

    def __str__(self) -> str:
        return f"the browser at {shown(self.url)}"


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
        parts = parts_of(url, ("http", "https"))
        if url and (parts is None or parts.query or parts.fragment):
            raise CaseError(f"--serve-url {shown(url)!r} must be a URL such as https://host:8443")
        if listen is not None:
            host, _, number = listen.rpartition(":")
            if not (host and re.fullmatch("[0-9]{1,5}", number) and int(number) < 65536):
                raise CaseError(f"--listen {listen!r} must be HOST:PORT, as 127.0.0.1:8000")
            return cls(host.strip("[]"), int(number), url)
        if parts is None:
            return cls()
        if not is_loopback(parts.hostname or "") or parts.port is None:
            raise CaseError(
                f"--serve-url {shown(url)} leads somewhere; say with --listen HOST:PORT where this "
                "server is to listen so that it leads there"
            )
        return cls("127.0.0.1", parts.port, url)

    @property
    def name(self) -> str | None:
        """What the Host header will say, if it is not this machine."""
        return urlsplit(self.url).hostname
