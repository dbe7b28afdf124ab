"""``--peers`` of `fa2 bench`: its options, and the comparisons after the benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from server import browser as browsers
from server import peers_fetch, peers_lock
from server.cases import Case
from server.launch import Options, choose_launcher
from server.peers_bench import PeersBench
from server.peers_console import PeersPrinter
from server.peers_report import PeerReport
from server.session import Opening

_FLAG, _GROUP = "--peers", "Other libraries"

PeersOption = Annotated[
    str | None,
    typer.Option(
        _FLAG,
        metavar="[NAMES]",
        help="Compare what was timed with other libraries: onnxruntime-web (ort), jax-js (jax), "
        "TensorFlow.js (tfjs), all of them or those named with commas between. npm fetches them.",
        rich_help_panel=_GROUP,
        show_default=False,
    ),
]
PeersDirOption = Annotated[
    Path | None,
    typer.Option(
        "--peers-dir",
        metavar="DIR",
        envvar=peers_fetch.VARIABLE,
        help="Where they are, or npm is to put them (in the cache folder); 29 MB that may be "
        "copied to a machine without a network.",
        rich_help_panel=_GROUP,
        show_default=False,
    ),
]


class WithPeers(TyperCommand):
    """A command whose ``--peers`` may stand alone: then it means all of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, complete(args))


def complete(args: Sequence[str]) -> list[str]:
    """
    >>> complete(["--peers", "forward:T=8,D=4"]), complete(["a", "--peers", "jax"])
    (['--peers=all', 'forward:T=8,D=4'], ['a', '--peers=jax'])
    """
    found: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == _FLAG:
            named = bool(rest) and ":" not in rest[0] and not rest[0].startswith("-")
            word = f"{_FLAG}={rest.pop(0) if named else 'all'}"
        found.append(word)
    return found


class Comparing:
    """The peers that were asked for; their files are there once this exists.

    Raises CaseError for an unknown peer and where the files are missing and cannot be fetched.
    """

    def __init__(self, names: str, folder: Path | None, printer: PeersPrinter) -> None:
        self._peers = peers_lock.parse(names)
        self._folder = folder or peers_fetch.default_folder()
        self._printer = printer
        peers_fetch.ensure(self._folder, self._peers, lambda line: typer.echo(line, err=True))

    def run(
        self,
        cases: Sequence[Case],
        browser: str | None,
        launch: str | None,
        options: Options,
        timeout_s: float,
        keep: Callable[[PeerReport], None],
    ) -> None:
        """Compares these cases; ``keep`` gets each report as it comes."""
        if not cases:
            return
        found = browsers.find(browser, headed=options.headed)
        opening = Opening(found, choose_launcher(found, launch), options)
        self._printer.heading([peers_lock.TITLES[peer] for peer in self._peers])
        with (
            PeersBench(opening, self._folder, self._peers) as bench,
            self._printer.bar.shown(len(cases)),
        ):
            for case in cases:
                for report in bench.compare(case, timeout_s=timeout_s, watch=self._printer.watch):
                    self._printer.report(report)
                    keep(report)
                self._printer.bar.advance()
