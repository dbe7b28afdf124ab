"""URLs that a person names: what is an address, and what of one may be shown.

A URL may hold keys: a password before the host, a token in the path or the query. They belong in no
error, no report and no log.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

_URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*)://([^\s'\"]*)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def parts_of(url: str, schemes: Sequence[str]) -> SplitResult | None:
    """The URL in its parts; None for what is no address: no such scheme, no host, no such port."""
    try:
        parts = urlsplit(url)
        port = parts.port  # reading it is what checks it
    except ValueError:
        return None
    known = parts.scheme in schemes and parts.hostname and port != 0
    return parts if known and parts.netloc.isascii() and " " not in parts.netloc else None


def shown(url: str) -> str:
    """Scheme, host and port, of something that need not be a URL; then … for what is left out."""
    found = _SCHEME.match(url)  # the first ://, since a query may hold another URL
    scheme = found[0] if found else ""
    rest = url[len(scheme) :]
    place = re.split(r"[/?#]", rest, maxsplit=1)[0]
    left_out = rest[len(place) :]
    if "@" in left_out and "@" not in place:
        place = "…"  # a password with a slash in it: what looks like a host is its beginning
    return f"{scheme}{place.rpartition('@')[2]}{left_out if left_out in ('', '/') else '/…'}"


def without_keys(text: str) -> str:
    """A text of somebody else's, in which each URL is only ``shown``."""
    return _URL.sub(lambda found: shown(found[0]), text)
