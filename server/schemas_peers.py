"""What travels as JSON about comparisons with peers, from the page in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from server.peers_comparison import ComparisonDone
from server.peers_report import PeerDone
from server.schemas import Adapter, FromPage, Nanoseconds, Sha256, Short, Size, Text

Samples = Annotated[list[Nanoseconds], Field(max_length=1000)]


class PeerProgressIn(FromPage):
    phase: Short


class PeerDoneIn(FromPage):
    peer: Literal["ort", "jax", "tfjs"]
    error: Text = ""
    refused: bool = False
    notes: list[Text] = Field(default=[], max_length=20)
    prepare_ns: Nanoseconds | None = None
    first_call_ns: Nanoseconds | None = None
    ns: Samples = Field(default=[])
    ours_ns: Samples = Field(default=[])
    calls: Size = 0
    ours_calls: Size = 0


class ComparisonDoneIn(FromPage):
    """``POST /api/peers/{comparison}/done``: the page's samples; the server makes the ratios."""

    peers: list[PeerDoneIn] = Field(default=[], max_length=3)
    kernel: Short = ""
    input_sha256: Sha256 = ""
    ours_first_call_ns: Nanoseconds | None = None
    adapter: Adapter | None = None
    engine: Short = ""
    error: Text = ""

    def to_done(self) -> ComparisonDone:
        told = self.model_dump()
        told["peers"] = [PeerDone(**peer) for peer in told["peers"]]
        return ComparisonDone(**told)
