"""What may be said about a run beside its case."""

from __future__ import annotations

from typing import Any, TypedDict

from server.run import Arrays


class RunOptions(TypedDict, total=False):
    """Each for this run alone."""

    kernel: str | None  # in place of the case's
    page: str | None  # the one that must do it
    kappa: float
    timeout_s: float | None  # in place of the base of the deadline
    inputs: Arrays | None  # in place of the seed's
    shaders: dict[str, str] | None  # texts in place of files of static/shaders/
    own: dict[str, Any] | None  # a kernel that is not ours
    trace: dict[str, int] | None  # the tile whose state is to be told
    tuned: dict[str, Any] | None  # tiles, in place of the adapter's table
    timing: bool  # a benchmark follows on the same page
    sampled_above: int | None  # may spare the judge a long case
    asker: str | None  # a page that is told of progress and verdict, whichever page does it
    posted: bool  # the inputs come later, by ``give_input``
