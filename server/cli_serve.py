"""`fa2 serve`: the page for a person's own browsers."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from server.app import create_app
from server.cli_history import NoHistoryOption
from server.console import make_console
from server.errors import CaseError
from server.history_place import history_file
from server.security import PAGE
from server.serving import listen, make_server
from server.settings import Settings


def serve(
    host: Annotated[
        str | None, typer.Option("--host", metavar="HOST", help="Address to listen on.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port; 0 takes a free one."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in this machine's default browser.")
    ] = False,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Permit a host that other machines reach; the URL gets a token."
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="One more name that this machine is called by (FA2_ALLOWED_HOSTS); may be "
            "repeated.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert", metavar="FILE", help="A certificate (PEM): serve https, not http."
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            "--tls-key", metavar="FILE", help="Its private key (PEM), if in a file of its own."
        ),
    ] = None,
    no_history: NoHistoryOption = False,
) -> None:
    """Serve the test page until Ctrl+C. Where no option is given, FA2_HOST and FA2_PORT count."""
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "allow_remote": allow_remote or None,
        "allowed_hosts": allow_host or None,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }
    given["history"] = "off" if no_history else history_file() or "off"
    try:
        settings = Settings(**{key: value for key, value in given.items() if value is not None})
    except ValidationError as error:
        raise CaseError("; ".join(map(_said, error.errors()))) from None
    console = make_console()
    listener = listen(settings.host, settings.port)
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    url = page_url(settings)
    console.print(f"webgpu-fa2 is at  {url}")
    if not settings.loopback:
        console.print("Other machines can reach it; the token in the URL is the key.")
        if settings.tls_cert is None:
            console.print(
                "WebGPU exists only on https and on localhost: give a certificate (--tls-cert, "
                "--tls-key), or open a tunnel there "
                f"(ssh -L {settings.port}:localhost:{settings.port} …)."
            )
    console.print("Ctrl+C ends it.")
    app = create_app(settings)
    if open_page:
        webbrowser.open(url)
    with listener:
        make_server(app).run(sockets=[listener])


def _said(error: ErrorDetails) -> str:
    """What is wrong with a setting, by the name that the environment gives it."""
    text = error["msg"].removeprefix("Value error, ")
    return f"FA2_{str(error['loc'][0]).upper()}: {text}" if error["loc"] else text


def page_url(settings: Settings) -> str:
    """Where the page is; with a token, the token is in it, once."""
    token = f"?token={settings.token.get_secret_value()}" if settings.token else ""
    return f"{settings.address}{PAGE}{token}"
