"""What travels as JSON about benchmarks, in and out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.bench_timing import BenchDone
from server.benches import LEAST_SAMPLES, MOST_SAMPLES
from server.schemas import (
    WGSL,
    Ended,
    FromPage,
    Nanoseconds,
    Number,
    OwnIn,
    PageName,
    Progress,
    Request,
    Seed,
    Sha256,
    Short,
    Size,
)

Rate = Annotated[Number, Field(ge=0, lt=1e9)]


class BenchRequest(Request):
    """``POST /api/benches``: one case."""

    case: Annotated[str, Field(max_length=1000)]
    kernel: Short | None = None
    seed: Seed | None = None
    samples: int = LEAST_SAMPLES
    kappa: Annotated[float, Field(gt=0, le=1e6)] = 4.0
    timeout_s: Annotated[Number, Field(gt=0, le=86_400)] | None = None
    page: PageName | None = None
    shaders: dict[Short, WGSL] = Field(
        default={}, max_length=40, description="edited texts of shader files, by path"
    )
    own: OwnIn | None = Field(default=None, description="a kernel that is not ours")


class BenchCreated(BaseModel):
    bench: str
    run: str
    case: str


class BenchProgressIn(Progress):
    phase: Literal["prepare", "peaks", "warm-up", "samples", "wall"]


class PeaksIn(FromPage):
    f32_tflops: Rate
    copy_gbps: Rate
    f16_matrix_tflops: Rate | None = None


class ClockIn(FromPage):
    stable: bool
    ns: Nanoseconds
    best_ns: Nanoseconds
    spread: Rate


class BenchDoneIn(Ended):
    """``POST /api/benches/{bench}/done``: the page's samples, of which the server makes numbers."""

    kernel: Short | None = None
    tile: dict[Short, Size] | None = Field(default=None, max_length=16)
    shader_sha256: Sha256 | None = None
    matrix: bool = False
    scratch_bytes: Annotated[int, Field(ge=0, lt=2**53)] = 0
    peaks: PeaksIn | None = None
    gpu_ns: list[Nanoseconds] = Field(default=[], max_length=MOST_SAMPLES)
    calls: Size = 0
    resolution_ns: Nanoseconds | None = None
    clock: ClockIn | None = None
    wall_ns: list[Nanoseconds] = Field(default=[], max_length=MOST_SAMPLES)

    def to_done(self) -> BenchDone:
        return BenchDone(**self.model_dump())


class BenchSummaryOut(BaseModel):
    """A benchmark on its way; ``state`` is checking, queued or sent, then its status."""

    bench: str
    run: str
    case: str
    state: str
    page: str | None
    created: str
    wanted_samples: int
    progress: dict[str, Any] | None


class BenchOut(BenchSummaryOut):
    """Once it is finished, ``status`` and all of ``BenchReport.to_dict`` are there."""

    model_config = ConfigDict(extra="allow")

    status: Literal["timed", "fail", "vacuous", "error", "skip"] | None
    message: str | None
