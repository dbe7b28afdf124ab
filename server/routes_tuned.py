"""The table of tuned tiles of an adapter, as the page asks for it before its first case."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from server import tuned
from server.errors import CaseError
from server.problems import Problem
from server.strict_json import StrictRoute

router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["pages"])

Name = Annotated[str, Query(max_length=1000)]


@router.get("/tuned")
def table(
    request: Request,
    vendor: Name = "",
    architecture: Name = "",
    device: Name = "",
    description: Name = "",
) -> dict[str, Any]:
    """What ``fa2 tune`` found on this adapter: kernels and choices; neither if it never ran there.

    500 for a file that is no table.
    """
    adapter = {"vendor": vendor, "architecture": architecture, "device": device}
    try:
        found = tuned.load(
            {**adapter, "description": description}, request.app.state.settings.tuned_dir
        )
    except CaseError as error:
        raise Problem(500, "bad-table", error.message) from None
    return {"kernels": found.get("kernels", {}), "choices": found.get("choices", [])}
