"""Who listens on a port that cannot be had: most often it is a server of ours, started before."""

from __future__ import annotations

import http.client
import ssl

from server.security import PAGE

ANSWER_S = 2.0
MOST_BYTES = 1 << 16
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
_TITLE = b"<title>webgpu-fa2"
_REALM = 'realm="fa2"'
"""A server that wants a token shows no page, but says whose token."""


def ours(host: str, port: int) -> str | None:
    """The address of the page of ours that answers there; None where another program does.

    No token is sent: whoever listens may be anybody.
    """
    host = _EVERYWHERE.get(host, host)
    shown = f"[{host}]" if ":" in host else host
    return next(
        (
            f"{scheme}://{shown}:{port}{PAGE}"
            for scheme in ("http", "https")
            if _answers(scheme, host, port)
        ),
        None,
    )


def _answers(scheme: str, host: str, port: int) -> bool:
    if scheme == "http":
        asked = http.client.HTTPConnection(host, port, timeout=ANSWER_S)
    else:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is told to it
        asked = http.client.HTTPSConnection(host, port, timeout=ANSWER_S, context=context)
    try:
        asked.request("GET", PAGE)
        answer = asked.getresponse()
        wants = answer.getheader("WWW-Authenticate") or ""
        return _REALM in wants or _TITLE in answer.read(MOST_BYTES)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
