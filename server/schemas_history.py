"""What the routes of the history answer with."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class HistoryRow(BaseModel):
    """Something finished in a list; ``worst`` is "inf" where an element was NaN.

    ``kind``: run, bench, golden or train. Of a training ``worst`` is what its gate judges over what
    that allows, ``median_ns`` the time of a step, ``loss`` the last of ``steps``.
    """

    seq: int
    run: str
    kind: str
    origin: str
    finished: str
    case: str
    kernel: str
    own: str
    status: str
    worst: float | str | None
    bad: int
    elapsed_ns: float | None
    gpu_ns: float | None
    median_ns: float | None
    tflops: float | None
    steps: int | None
    loss: float | str | None
    engine: str
    adapter: str | None
    shader_sha256: str
    edited: int
    kept_bytes: int


class HistoryOut(BaseModel):
    """Newest first; ``next`` is the ``before`` of the next page, None on the last."""

    kept: bool  # False: this server keeps no history
    runs: list[HistoryRow]
    next: int | None


class TextOut(BaseModel):
    sha256: str
    bytes: int


class HistoryRunOut(HistoryRow):
    """A run in full; ``texts`` are its shader files by path, ``outputs`` what it computed."""

    report: dict[str, Any]
    request: dict[str, Any]
    outputs: dict[str, dict[str, Any]]
    texts: dict[str, TextOut]
