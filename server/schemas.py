"""What travels as JSON, in and out."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from server.grammar import FEATURE
from server.report import Done
from server.shader_files import MAX_TEXT, text_bytes


def _not_too_long(text: str) -> str:
    if (size := text_bytes(text)) > MAX_TEXT:
        raise ValueError(f"has {size} bytes; at most {MAX_TEXT} are taken")
    return text


Short = Annotated[str, Field(max_length=200)]
Label = Annotated[str, Field(max_length=60)]
Text = Annotated[str, Field(max_length=20_000)]
WGSL = Annotated[str, AfterValidator(_not_too_long), Field(max_length=MAX_TEXT)]
Feature = Annotated[str, Field(pattern=f"^{FEATURE}$")]  # a word of a shell, too
Sha256 = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]  # "" when there was nothing to hash
Number = int | float
Amount = Annotated[Number, Field(ge=0, lt=2**63)]  # JSON has integers that no float holds
Nanoseconds = Amount
Size = Annotated[int, Field(ge=0, lt=2**31)]
PageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Seed = Annotated[str, Field(pattern=r"^(0x[0-9A-Fa-f]{1,16}|[0-9]{1,20})$")]
Kind = Literal["compile", "manifest", "device-lost", "timeout", "unsupported", "no-adapter", "page"]


class Request(BaseModel):
    """Strict: a number is not taken for a string, nor a string for a number."""

    model_config = ConfigDict(strict=True, extra="forbid")


class FromPage(BaseModel):
    """From our own page, which may know more than this server does."""

    model_config = ConfigDict(strict=True, extra="ignore")


class TraceIn(Request):
    """Whose state is wanted: of a head the query tile, for a backward with one key tile.

    The page knows the kernel's tiles: without ``i_tile`` it takes the first that sees the key tile,
    without ``j_tile`` the last one that the query tile's first row sees.
    """

    b: Size = 0
    h: Size = 0
    i_tile: Size | None = None
    j_tile: Size | None = None


class OwnIn(Request):
    """A kernel that is not ours. Its manifest is checked by `own_kernel`, which names the field."""

    name: Short = "own"
    manifest: dict[str, Any] = {}
    files: dict[Short, WGSL] = Field(min_length=1, max_length=8, description="the kernel's first")


class RunRequest(Request):
    """``POST /api/runs``: one case or one suite."""

    case: Annotated[str, Field(max_length=1000)] | None = None
    suite: Short | None = None
    kernel: Short | None = None
    page: PageName | None = None
    seed: Seed | None = Field(
        default=None, description="decimal or 0x…, below 2⁶⁴; a string, since JSON numbers round"
    )
    kappa: Annotated[float, Field(gt=0, le=1e6)] = 4.0
    timeout_s: Annotated[Number, Field(gt=0, le=86_400)] | None = Field(
        default=None, description="for a small case; the predicted work of a large one is added"
    )
    asker: PageName | None = Field(
        default=None, description="a page that is told of progress and verdict, whoever does it"
    )
    posted: bool = Field(
        default=False, description="the inputs are sent next: PUT /api/runs/{run}/inputs/{name}"
    )
    shaders: dict[Short, WGSL] = Field(
        default={}, max_length=40, description="edited texts of shader files, by path"
    )
    trace: TraceIn | None = None
    like: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = Field(
        default=None, description="a run whose edited texts, or kernel of its own, run again"
    )
    own: OwnIn | None = Field(default=None, description="a kernel that is not ours")


class Progress(FromPage):
    """How far a page is in one of the phases of its task."""

    phase: str
    done: Amount = 0
    total: Amount = 0


class ProgressIn(Progress):
    phase: Literal["inputs", "compile", "run", "readback", "upload"]


class Adapter(FromPage):
    vendor: Short = ""
    architecture: Short = ""
    device: Short = ""
    description: Annotated[str, Field(max_length=1000)] = ""
    fallback: bool = False
    features: list[Short] = Field(default=[], max_length=200)
    withheld: list[Feature] = Field(default=[], max_length=40)
    limits: dict[Short, Number] = Field(default={}, max_length=200)


class EnvironmentIn(FromPage):
    """How far the page came on the way to a device."""

    ok: bool
    step: Literal["secure-context", "navigator.gpu", "adapter", "device"] | None = None
    message: Text | None = None
    adapter: Adapter | None = None
    engine: Short = ""


class ErrorIn(FromPage):
    kind: Kind
    message: Text = ""
    file: Short | None = None
    line: Size | None = None
    column: Size | None = None


class Ended(FromPage):
    """What a page says at the end of every task."""

    status: Literal["ok", "skip", "error"]
    adapter: Adapter | None = None
    engine: Short | None = None
    error: ErrorIn | None = None

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if self.status != "ok" and self.error is None:
            raise ValueError(f"status {self.status!r} needs an error with a kind and a message")
        return self


class PassIn(FromPage):
    """A kernel that ran, with the numbers of its tile row and the files that played its roles."""

    kernel: Short
    tile: dict[Short, Size | bool] = Field(default={}, max_length=64)
    roles: dict[Short, Short] = Field(default={}, max_length=16)


class DoneIn(Ended):
    """``POST /api/runs/{run}/done``."""

    kernel: Short | None = None
    tile: dict[Short, Size] | None = Field(default=None, max_length=16)
    passes: list[PassIn] = Field(default=[], max_length=16)
    traced: list[Short] = Field(default=[], max_length=16)
    input_sha256: Sha256 | None = None
    shader_sha256: Sha256 | None = None
    dispatches: Size = 0
    elapsed_ns: Nanoseconds | None = None
    compile_ns: Nanoseconds | None = None
    first_result_ns: Nanoseconds | None = None
    gpu_ns: Nanoseconds | None = None
    warnings: list[Text] = Field(default=[], max_length=100)

    def to_done(self) -> Done:
        """The judge's own type, which knows nothing of JSON."""
        return Done(**self.model_dump())


class CasesOut(BaseModel):
    suites: dict[str, list[str]]


class RunsCreated(BaseModel):
    runs: list[str]
    cases: list[str]


class LabelIn(FromPage):
    """What people call a page; "" gives it no name."""

    label: Label


class PageOut(BaseModel):
    page: str
    label: str
    connected: bool
    idle: bool
    run: str | None
    doing: str | None
    environment: dict[str, Any] | None


class RunOut(BaseModel):
    """A run on its way; ``state`` is queued, sent or judging, then the status of its report."""

    run: str
    case: str
    kernel: str
    state: str
    page: str | None
    created: str
    progress: dict[str, Any] | None
    message: str | None


class WorstOut(BaseModel):
    """The element that is worst off; JSON has no NaN, so it is the string "NaN" here."""

    index: list[int]
    tile: list[int] | None
    actual: float | str
    expected: float | str
    allowed: float | str


class OutputOut(BaseModel):
    worst_ratio: float | str
    worst: WorstOut
    bad: int
    total: int
    nan: int
    inf: int
    where: str


class ReportOut(BaseModel):
    """The verdict on a run: what ``Report.to_dict`` gives."""

    model_config = ConfigDict(extra="allow")

    case: str
    kernel: str
    status: Literal["pass", "fail", "vacuous", "error", "skip"]
    message: str
    outputs: dict[str, OutputOut]
    controls: dict[str, dict[str, Any]]
    kappa: float
    input_sha256: str
    shader_sha256: str
    adapter: dict[str, Any] | None
    engine: str
    passes: list[dict[str, Any]]
    elapsed_ns: float | None
    compile_ns: float | None
    first_result_ns: float | None
    gpu_ns: float | None
    edited: list[str]
    told: int
    warnings: list[str]
    finding: dict[str, str] | None
    error: dict[str, Any] | None


class ProblemOut(BaseModel):
    """RFC 9457, ``application/problem+json``."""

    type: str
    title: str
    status: int
    detail: str
