"""What travels as JSON about trainings, in and out."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from server.schemas import (
    Ended,
    FromPage,
    Nanoseconds,
    Number,
    PageName,
    Progress,
    Request,
    Seed,
    Short,
    Text,
)
from server.training_report import TrainingDone

MOST_STEPS = 1000
"""Of one request: a page that computes faster sends several."""

# JSON has no NaN and no infinity: they travel as words.
Loss = float | Literal["NaN", "inf", "-inf"]
Whole = Annotated[int, Field(ge=0, lt=2**53)]


class TrainingRequest(Request):
    """``POST /api/trainings``."""

    preset: Short = "tiny"
    gate: Short = "drift"
    attention: Short = "fa2"
    seed: Seed = "0"
    steps: int | None = Field(default=None, description="for gate bench or none")
    context: int | None = Field(default=None, description="replaces the preset's T")
    page: PageName | None = None


class TrainingCreated(BaseModel):
    training: str


class StepsIn(FromPage):
    """Steps that the page has finished, in order; the first of them is number ``first``, from 1."""

    first: Annotated[int, Field(ge=1)]
    losses: list[Loss] = Field(min_length=1, max_length=MOST_STEPS)
    elapsed_ns: list[Nanoseconds] = Field(min_length=1, max_length=MOST_STEPS)

    @model_validator(mode="after")
    def _as_many_times(self) -> Self:
        if len(self.losses) != len(self.elapsed_ns):
            raise ValueError(f"{len(self.losses)} losses, but {len(self.elapsed_ns)} times")
        return self

    def numbers(self) -> list[float]:
        """The losses; words become what they mean."""
        return [float(loss) for loss in self.losses]


class TrainingProgressIn(Progress):
    phase: Literal["prepare", "measure", "step"]


class TrainingDoneIn(Ended):
    """``POST /api/trainings/{training}/done``."""

    attention_passes: Whole = 0
    kernels: list[Short] = Field(default=[], max_length=16)
    size_bytes: Whole = 0
    warnings: list[Text] = Field(default=[], max_length=100)

    def to_done(self) -> TrainingDone:
        return TrainingDone(**self.model_dump())


class TrainingSummaryOut(BaseModel):
    """A training in a list."""

    training: str
    preset: str
    config: dict[str, Number]
    gate: str
    attention: str
    seed: str
    steps: int
    state: str
    page: str | None
    created: str
    steps_done: int
    message: str | None


class TrainingOut(TrainingSummaryOut):
    """How far a training is; once it is finished, ``status`` and what follows it are there too."""

    progress: dict[str, Any] | None
    losses: list[float | str]
    twin: list[float | str]
    elapsed_ns: list[float]
    status: Literal["pass", "fail", "error", "skip"] | None = None
    worst: float | str | None = None
    worst_step: int | None = None
    steps_per_s: float | None = None
    kernels: list[str] = []
    size_bytes: int = 0
    adapter: dict[str, Any] | None = None
    engine: str = ""
    warnings: list[str] = []
    error: dict[str, Any] | None = None
