"""The shader files that can be edited, and what a case asks of them."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated

from fastapi import APIRouter, Query, Request

from server.cases import Case
from server.schemas import Seed, Short
from server.schemas_shaders import CaseOut, ShaderOut, ShadersOut
from server.shader_files import texts
from server.strict_json import StrictRoute

router = APIRouter(prefix="/api", route_class=StrictRoute, tags=["shaders"])


@router.get("/shaders")
async def shaders(request: Request) -> ShadersOut:
    """All of them; a text is at ``/static/shaders/{path}``."""
    settings = request.app.state.settings
    found = await asyncio.to_thread(texts, settings.static_dir)
    return ShadersOut(
        watched=settings.watch_shaders,
        shaders=[
            ShaderOut(path=path, sha256=hashlib.sha256(text).hexdigest(), size_bytes=len(text))
            for path, text in found.items()
        ],
    )


@router.get("/cases/{case}")
async def case(
    case: str, kernel: Annotated[Short | None, Query()] = None, seed: Seed | None = None
) -> CaseOut:
    """A case as a page runs it: what a job says of it, without running anything."""
    parsed = Case.parse(case)
    if kernel is not None:
        parsed = parsed.replace(kernel=kernel)
    if seed is not None:
        parsed = parsed.replace(seed=int(seed, 0))
    return CaseOut(case=str(parsed), spec=parsed.to_job(), kernel=parsed.kernel)
