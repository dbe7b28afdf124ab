"""uvicorn as every entry point of this project runs it.

What it does not do by itself: end open event streams at shutdown (it waits for them, for ever by
default), answer what is not HTTP with our headers, send small answers at once on a socket it was
given, and keep the token out of the access log.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.app import close
from server.errors import CaseError
from server.occupied import ours
from server.problems import Problem
from server.security import HEADERS

GRACE_S = 2  # for answers that are under way when the server is told to stop


class Protocol(H11Protocol):
    """HTTP/1.1 whose refusal of malformed requests looks like every other error."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # asyncio does this only for sockets that it made itself; on others the body of an answer
        # waits 40 ms for the acknowledgement of its head.
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)

    def _should_upgrade(self) -> bool:
        return False  # nothing here speaks WebSocket, and uvicorn would log advice to install one

    def send_400_response(self, msg: str) -> None:
        problem = Problem(400, "bad-request", msg).response()
        headers = [
            *((name.encode(), value.encode()) for name, value in HEADERS.items()),
            (b"Cache-Control", b"no-store"),
            (b"Connection", b"close"),
            *problem.raw_headers,
        ]
        try:
            response = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (response, h11.Data(data=bytes(problem.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:
            pass  # an answer to an earlier request is under way: only hanging up is left
        self.transport.close()


class Server(uvicorn.Server):
    """Says goodbye to the pages before it waits for their connections to close."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        close(self._app)
        await super().shutdown(sockets)


class WithoutQuery(logging.Filter):
    """Drops the query from access log lines: the printed URL carries the token there."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                arg.partition("?")[0] if isinstance(arg, str) else arg for arg in record.args
            )
        return True


def make_server(app: FastAPI, *, access_log: bool = False, log_level: str = "warning") -> Server:
    """A server for the host and port of the app's settings; ``run()``, or ``run(sockets=[…])``."""
    settings = app.state.settings
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level=log_level,
        access_log=access_log,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
    logging.getLogger("uvicorn.access").addFilter(_WITHOUT_QUERY)
    return Server(config, app)


_WITHOUT_QUERY = WithoutQuery()  # one object, so that a second server does not add it again


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises CaseError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            found = ours(host, port)
            who = f"webgpu-fa2 already runs there: {found}" if found else "another program has it"
            why = f"port {port} is taken, {who}; --port 0 finds a free one"
        else:
            why = f"{host} port {port} cannot be listened on: {error.strerror or error}"
        raise CaseError(why) from None
