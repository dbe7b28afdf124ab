"""One comparison on its way: a case and the peers that take it, given to the one page there is.

::

    waiting ──page asks──▶ given ──outputs, a check a subject──▶ ──POST done──▶ reports
"""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from server import peers_check, peers_report
from server.cases import Case
from server.inputs import digest, make_inputs
from server.outputs import outputs_of
from server.peers_check import Check
from server.peers_report import PeerDone, PeerReport
from server.verdict import Array

OURS = "ours"


@dataclass(frozen=True, kw_only=True)
class ComparisonDone:
    """What the page says at the end; ``error``: why it has not come to the peers that it does not
    tell of.
    """

    peers: list[PeerDone]
    kernel: str = ""
    input_sha256: str = ""
    ours_first_call_ns: float | None = None
    adapter: dict[str, Any] | None = None
    engine: str = ""
    error: str = ""


@dataclass(eq=False)
class Comparison:
    """Changed by the server's loop; ``future`` may be awaited from any thread."""

    case: Case
    peers: list[str]
    pairs: int
    sample_s: float  # one sample of a pair lasts at least
    limit_s: float  # for the pairs of one peer
    deadline_s: float  # for each sign of life
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    given: bool = False
    alive_at: float = field(default_factory=time.monotonic)
    progress: str = ""
    tensors: dict[str, dict[str, Array]] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)
    future: Future[list[PeerReport]] = field(default_factory=Future)
    _settling: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def job(self, models: dict[str, str]) -> dict[str, Any]:
        """What the page gets; ``models``: where it finds the ONNX model, by peer."""
        return {
            "comparison": self.id,
            "case": str(self.case),
            "spec": self.case.to_job(),
            "kernel": self.case.kernel,
            "want": [
                {"name": s.name, "dtype": s.dtype, "shape": list(s.shape), "bytes": s.bytes}
                for s in outputs_of(self.case)
            ],
            "outputs": list(peers_check.wanted(self.case)),
            "peers": self.peers,
            "models": models,
            "pairs": self.pairs,
            "sample_ms": round(self.sample_s * 1000),
            "limit_ms": round(self.limit_s * 1000),
            "deadline_ms": round(self.deadline_s * 1000),
        }

    def heard(self, progress: str = "") -> None:
        """The page has given a sign of life."""
        self.alive_at = time.monotonic()
        self.progress = progress or self.progress

    @property
    def silent_s(self) -> float:
        return time.monotonic() - self.alive_at

    def take(self, subject: str, name: str, body: bytearray) -> None:
        """One output of ours or of a peer."""
        spec = peers_check.wanted(self.case)[name]
        self.tensors.setdefault(subject, {})[name] = np.frombuffer(body, spec.numpy)

    def check(self, subject: str) -> Check:
        """Judges what was uploaded of a subject and lets go of it. KeyError if some is missing."""
        tensors = self.tensors.pop(subject, {})
        self.checks[subject] = found = peers_check.check(self.case, tensors)
        return found

    def finish(self, done: ComparisonDone) -> None:
        """The page is done: the reports, one a peer."""
        why = self._doubt(done)
        common = {
            "kernel": done.kernel,
            "ours_first_call_ns": done.ours_first_call_ns,
            "adapter": done.adapter,
            "engine": done.engine,
        }
        told = {peer.peer: peer for peer in done.peers}
        reports = []
        for peer in self.peers:
            if peer not in told or why:
                said = done.error or why or "the page left it out"
                reports.append(peers_report.failed(self.case, peer, said))
                continue
            check = self.checks.get(peer)
            reports.append(peers_report.judged(self.case, check, told[peer], **common))
        self._settle(reports)

    def fail(self, why: str) -> None:
        """Ends it from outside."""
        reached = f" (it was at: {self.progress})" if self.progress else ""
        self._settle([peers_report.failed(self.case, p, why + reached) for p in self.peers])

    def _settle(self, reports: list[PeerReport]) -> None:
        """The first wins: a page may be done in the moment in which it is given up."""
        with self._settling:
            if not self.future.done():
                self.future.set_result(reports)

    def _doubt(self, done: ComparisonDone) -> str:
        """Why no ratio means anything; "" if there is no such reason."""
        if done.input_sha256 != digest(make_inputs(self.case)):
            return "the page computed from other inputs than the case's; reload it"
        ours = self.checks.get(OURS)
        if ours is None or not ours.right:
            return f"our own kernel is not right here: {ours.message if ours else 'no outputs'}"
        return ""
