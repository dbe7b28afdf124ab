"""Benchmarks on a page of another server: submitted and followed over HTTP."""

from __future__ import annotations

from typing import Any

from server import bench_report
from server.bench import Bench
from server.bench_read import read_bench
from server.cases import Case
from server.errors import CaseError, Unsupported
from server.remote import Refused, Remote
from server.remote_follow import follow
from server.report import RunError
from server.run import Run

LOOK_S = 0.2


class RemoteBenches:
    """Stands where ``BenchStore`` stands."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def submit(
        self,
        case: Case,
        *,
        page: str,
        samples: int,
        kappa: float = 4.0,
        timeout_s: float | None = None,
        tuned: dict[str, Any] | None = None,
        **more: Any,
    ) -> Bench:
        """Asks for it; its ``future`` holds the report in the end, whatever happens.

        ``more``: what ``POST /api/benches`` takes under the same names (shaders, own). Raises
        CaseError for what the server refuses, Unsupported for tiles, which it does not take.
        """
        refuse_tiles(tuned)
        body = {"case": str(case), "page": page, "samples": samples, "kappa": float(kappa)}
        body |= {"timeout_s": timeout_s, **{name: value for name, value in more.items() if value}}
        try:
            answer = self._remote.post("/api/benches", body)
        except Refused as refused:
            raise CaseError(refused.message) from None
        # No second try for a browser that nobody here can restart: hence "heard".
        common: dict[str, Any] = {"deadline_s": timeout_s or 0.0, "heard": True}
        check = Run(case, kappa, {}, page=page, id=answer["run"], **common)
        bench = Bench(check, samples, id=answer["bench"], **common)
        self._follow(bench)
        return bench

    def _follow(self, bench: Bench) -> None:
        def look() -> bool:
            found = self._remote.get(f"/api/benches/{bench.id}")
            if found["status"] is not None:
                bench.settle(read_bench(found))
                return True
            bench.state, bench.progress = found["state"], found["progress"]
            return False

        def give_up(message: str) -> None:
            error = RunError("page", message)
            bench.settle(bench_report.failed(bench.run.case, bench.check, error))

        follow(look, give_up, LOOK_S)


def refuse_tiles(tuned: dict[str, Any] | None) -> None:
    """Raises Unsupported: no route takes them."""
    if tuned is not None:
        raise Unsupported("a page of another server keeps tiles of its own; leave --page out")
