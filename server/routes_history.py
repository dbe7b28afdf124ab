"""Finished runs of earlier times: listed, read, forgotten, and packed up for elsewhere.

Plain functions, which FastAPI runs on other threads: SQLite is read with waits of its own.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from server.history import History, Kept, told
from server.history_filter import LONGEST, MOST, Filter
from server.problems import Problem
from server.repro import name_of, write_repro
from server.schemas_history import HistoryOut, HistoryRow, HistoryRunOut
from server.strict_json import StrictRoute

router = APIRouter(prefix="/api/history", route_class=StrictRoute, tags=["history"])

Pattern = Annotated[str, Query(max_length=LONGEST)]
RunId = Annotated[str, Path(pattern=r"^[0-9a-f]{1,32}$")]
Sha256 = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]


def _history(request: Request) -> History:
    history: History | None = request.app.state.history
    if history is None:
        raise Problem(404, "no-history", "this server keeps no history: it was turned off")
    return history


Known = Annotated[History, Depends(_history)]


def _kept(run: RunId, history: Known) -> Kept:
    found = history.get(run)
    if found is None:
        raise Problem(404, "unknown-run", f"the history has no run {run!r}; it may be forgotten")
    return found


KeptRun = Annotated[Kept, Depends(_kept)]


@router.get("")
def listing(
    request: Request,
    kind: Pattern = "",
    case: Pattern = "",
    kernel: Pattern = "",
    status: Pattern = "",
    adapter: Pattern = "",
    since: Annotated[str, Query(max_length=40)] = "",
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
) -> HistoryOut:
    """Newest first. ``case``, ``kernel``, ``adapter``: globs, or words that may stand anywhere;
    ``kind``, ``status``: some with commas; ``since``: 24h, 7d or a date; ``before``: the ``next``
    of the page before.
    """
    history: History | None = request.app.state.history
    wanted = Filter(
        kind=kind,
        case=case,
        kernel=kernel,
        status=status,
        adapter=adapter,
        since=since,
        before=before,
        limit=limit,
    )
    if history is None:
        wanted.sql()  # a bad filter is one here too
        return HistoryOut(kept=False, runs=[], next=None)
    rows = history.rows(wanted)
    after = rows[-1]["seq"] if len(rows) == limit else None
    return HistoryOut(kept=True, runs=[HistoryRow(**told(row)) for row in rows], next=after)


@router.get("/{run}")
def read(kept: KeptRun) -> HistoryRunOut:
    """The report, what was asked for, and which texts it was made of."""
    return HistoryRunOut(**told(kept.to_dict()))


@router.get("/{run}/texts/{sha256}")
def text(run: RunId, sha256: Sha256, history: Known) -> Response:
    """A shader file as the run had it."""
    found = history.text(run, sha256)
    if found is None:
        raise Problem(404, "unknown-text", f"run {run!r} has no text {sha256[:12]}…")
    return Response(found, media_type="text/plain; charset=utf-8")


@router.get("/{run}/repro.zip")
def repro(kept: KeptRun, history: Known) -> Response:
    """The run packed up: `fa2 replay` runs it elsewhere."""
    data = write_repro(history, kept)
    headers = {"Content-Disposition": f'attachment; filename="{name_of(kept)}.zip"'}
    return Response(data, media_type="application/zip", headers=headers)


@router.delete("/{run}", status_code=204)
def forget(run: RunId, history: Known) -> None:
    """Forgets one run for good."""
    found = history.delete(run)
    if not found:
        raise Problem(404, "unknown-run", f"the history has no run {run!r}; it may be forgotten")
