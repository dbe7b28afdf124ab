"""What comparing a peer with our kernel gives: ratios pair by pair, on one clock for both.

Peers expose no GPU times, so both sides are timed by wall time over queued calls that are waited
for once. The page takes them in turns; the n-th sample of one side is divided by the n-th of the
other, so that a GPU that heats up or clocks down meanwhile changes both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.bench_timing import Quantiles
from server.cases import Case
from server.peers_check import Check
from server.peers_lock import TITLES, versions

LEAST_PAIRS = 3
COMPARED, WRONG, REFUSED, ERROR = "compared", "wrong", "refused", "error"


@dataclass(frozen=True)
class PeerDone:
    """What the page says of one peer, as it stands in the JSON; times in nanoseconds."""

    peer: str
    error: str = ""  # why it could not be run or timed
    refused: bool = False  # the error is a refusal by name: of the adapter, of the type
    notes: Sequence[str] = ()
    prepare_ns: float | None = None  # loading, its device, its uploads
    first_call_ns: float | None = None
    ns: Sequence[float] = ()  # of a call, one a pair
    ours_ns: Sequence[float] = ()
    calls: int = 0  # in a sample
    ours_calls: int = 0


@dataclass(frozen=True, kw_only=True)
class PeerReport:
    """One peer on one case. ``ratio``: its time over ours, above 1 where ours is faster."""

    case: str
    peer: str
    status: str  # compared, wrong (then not timed), refused or error
    message: str
    kernel: str = ""  # of ours
    work: str = "forward"
    check: Check | None = None
    notes: tuple[str, ...] = ()
    prepare_ns: float | None = None
    first_call_ns: float | None = None
    ours_first_call_ns: float | None = None
    ns: Quantiles | None = None
    ours_ns: Quantiles | None = None
    ratio: Quantiles | None = None
    pairs: int = 0
    calls: int = 0
    ours_calls: int = 0
    adapter: Mapping[str, Any] | None = None
    engine: str = ""

    @property
    def title(self) -> str:
        return TITLES[self.peer]

    def to_dict(self) -> dict[str, Any]:
        found = {
            name: getattr(self, name)
            for name in ("case", "peer", "status", "message", "kernel", "work")
        }
        found.update(package=versions(self.peer), clock="wall", notes=list(self.notes))
        found.update(self.check.to_dict() if self.check else {"right": None, "errors": {}})
        found["message"] = self.message
        for name in ("prepare_ns", "first_call_ns", "ours_first_call_ns", "pairs"):
            found[name] = getattr(self, name)
        found.update(calls_per_sample=self.calls, ours_calls_per_sample=self.ours_calls)
        for name in ("ns", "ours_ns", "ratio"):
            quantiles = getattr(self, name)
            found[name] = quantiles and dataclasses.asdict(quantiles)
        found.update(adapter=self.adapter, engine=self.engine)
        return found


def pair_ratios(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Their time over ours, pair by pair. ValueError if there are no pairs of positive times.

    >>> pair_ratios([4.0, 9.0], [2.0, 3.0])
    [2.0, 3.0]
    """
    if not theirs or len(theirs) != len(ours):
        raise ValueError(f"{len(theirs)} and {len(ours)} samples are no pairs")
    if min(*theirs, *ours) <= 0:
        raise ValueError("a sample took no time by this clock")
    return [theirs_ns / ours_ns for theirs_ns, ours_ns in zip(theirs, ours, strict=True)]


def work_of(case: Case) -> str:
    """A backward is compared together with its forward: libraries offer no backward alone."""
    return "forward + backward" if case.op == "backward" else "forward"


def judged(case: Case, check: Check | None, done: PeerDone, **common: Any) -> PeerReport:
    """The report on a peer that the page has run; ``common``: what it has with the others."""
    known: dict[str, Any] = {
        "case": str(case),
        "peer": done.peer,
        "check": check,
        "work": work_of(case),
        "notes": tuple(done.notes),
        "prepare_ns": done.prepare_ns,
        "first_call_ns": done.first_call_ns,
        **common,
    }
    if done.error:
        return PeerReport(status=REFUSED if done.refused else ERROR, message=done.error, **known)
    if check is None:
        return PeerReport(status=ERROR, message="the page sent no outputs of it", **known)
    if not check.right:
        return PeerReport(status=WRONG, message=f"wrong: {check.message}", **known)
    if len(done.ns) < LEAST_PAIRS:
        return PeerReport(status=ERROR, message="the page sent no times of it", **known)
    try:
        ratio = Quantiles.of(pair_ratios(done.ns, done.ours_ns))
    except ValueError as error:
        return PeerReport(status=ERROR, message=f"not compared: {error}", **known)
    return PeerReport(
        status=COMPARED,
        message=check.message,
        ns=Quantiles.of(done.ns),
        ours_ns=Quantiles.of(done.ours_ns),
        ratio=ratio,
        pairs=len(done.ns),
        calls=done.calls,
        ours_calls=done.ours_calls,
        **known,
    )


def refused(case: Case, peer: str, why: str) -> PeerReport:
    """The report on a peer that does not take the case."""
    return PeerReport(case=str(case), peer=peer, status=REFUSED, message=why, work=work_of(case))


def failed(case: Case, peer: str, why: str) -> PeerReport:
    """The report on a peer that was not reached: the page, its device or our own kernel failed."""
    return PeerReport(case=str(case), peer=peer, status=ERROR, message=why, work=work_of(case))


def nothing_compared(reports: Sequence[PeerReport]) -> bool:
    """Peers were asked for and failed, all of them: a peer that is wrong is a finding, this not."""
    statuses = {report.status for report in reports}
    return ERROR in statuses and not statuses & {COMPARED, WRONG}
