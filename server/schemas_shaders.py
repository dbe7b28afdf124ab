"""What travels as JSON about shader files."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class ShaderOut(BaseModel):
    """A file under ``static/shaders/``; ``path`` has ``/`` between folders."""

    path: str
    sha256: str
    size_bytes: int


class ShadersOut(BaseModel):
    """``GET /api/shaders``; watched: pages are told of saved files (event ``shader``)."""

    watched: bool
    shaders: list[ShaderOut]


class CaseOut(BaseModel):
    """``GET /api/cases/{case}``: the case as it is written canonically, and its job."""

    case: str
    spec: dict[str, Any]
    kernel: str
