"""`fa2 bench --peers`: one case after the other on a page that holds our kernel and the peers.

A server and a browser of their own, apart from those that time our kernels alone: the page here has
a weaker policy (routes_peers.py), and its libraries keep memory and devices.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from server import peers_report, routes_peers
from server.cases import Case
from server.errors import PageError
from server.outputs import predicted_work
from server.peers_comparison import Comparison
from server.peers_report import PeerReport
from server.peers_support import refusal
from server.service import Service
from server.session import Opening, Session
from server.settings import Settings

PAIRS = 30
SAMPLE_S = 0.1
LIMIT_S = 30.0
"""The pairs of one peer may take so long; a slow one gets fewer of them, at least three."""
POLL_S = 0.2
GRACE_S = 5.0  # the page may report its own timeout first

Watch = Callable[[Comparison], None]


class PeersBench:
    """``with PeersBench(…) as bench: reports = bench.compare(case)``.

    ``folder`` holds the peers' files (peers_fetch.ensure). Raises NoBrowser and NoAdapter, when a
    browser is opened first and when one has to be opened anew.
    """

    def __init__(
        self,
        opening: Opening,
        folder: Path,
        peers: Sequence[str],
        *,
        settings: Settings | None = None,
    ) -> None:
        self._opening = replace(opening, path=routes_peers.PAGE)
        self._peers = list(peers)
        self._service = Service(settings)
        self._desk = routes_peers.install(self._service.app, folder, self._peers)
        self._session: Session | None = None

    def __enter__(self) -> PeersBench:
        self._service.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._close_browser()
        self._service.stop()

    @property
    def url(self) -> str:
        """Of the server."""
        return self._service.url

    def compare(
        self,
        case: Case,
        *,
        pairs: int = PAIRS,
        sample_s: float = SAMPLE_S,
        limit_s: float = LIMIT_S,
        timeout_s: float = 60.0,
        watch: Watch = lambda comparison: None,
    ) -> list[PeerReport]:
        """One report a peer, whatever happens; ``watch`` is called a few times a second.

        ``pairs``: samples of either side. ``timeout_s``: for a sign of life of a small case.
        """
        refused = {peer: refusal(peer, case) for peer in self._peers}
        able = [peer for peer, why in refused.items() if not why]
        reports = {peer: peers_report.refused(case, peer, why) for peer, why in refused.items()}
        if able:
            speed = self._service.settings.flops_per_s
            deadline_s = timeout_s + 4 * predicted_work(case) / speed
            comparison = Comparison(case, able, pairs, sample_s, limit_s, deadline_s)
            reports.update({report.peer: report for report in self._run(comparison, watch)})
        return [reports[peer] for peer in self._peers]

    def _run(self, comparison: Comparison, watch: Watch) -> list[PeerReport]:
        if self._session is None:
            self._session = Session(self._service, self._opening)
        session = self._session
        comparison.heard()
        self._desk.current = comparison
        try:
            while not concurrent.futures.wait([comparison.future], POLL_S).done:
                watch(comparison)
                if not self._service.running:
                    raise PageError("the server in this process ended during a comparison")
                if not session.launched.alive():
                    self._give_up(comparison, "the browser ended before it was done")
                elif comparison.silent_s > comparison.deadline_s + GRACE_S:
                    why = f"the page gave no sign of life within {comparison.deadline_s:g} s"
                    self._give_up(comparison, why)
        finally:
            self._desk.current = None
        return comparison.future.result()

    def _give_up(self, comparison: Comparison, why: str) -> None:
        """The next case gets another browser."""
        comparison.fail(why)
        self._close_browser()

    def _close_browser(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
