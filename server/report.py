"""What is said about a run: the same report on the page, the command line, in pytest and as JSON.

Statuses: ``pass``, ``fail`` (the numbers or the memory are wrong), ``vacuous`` (no failure, but the
case could not have noticed a known mistake), ``error`` (page, device, timeout, compile: nothing was
judged) and ``skip`` (refused by name before anything ran).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from server.tolerance import KAPPA
from server.verdict import Comparison, Worst


@dataclass(frozen=True)
class RunError:
    """What kept a run from being judged; ``kind`` is one of ``errors.py``."""

    kind: str
    message: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, kw_only=True)
class Done:
    """What the page says when it has finished a run, as it stands in the JSON."""

    status: str  # ok, skip or error
    kernel: str | None = None
    tile: Mapping[str, int] | None = None  # {"Br": …, "Bc": …}
    passes: Sequence[Mapping[str, Any]] = ()  # {"kernel": …, "tile": {"TX": …}, "roles": …}
    traced: Sequence[str] = ()  # kernels that told their tiles
    input_sha256: str | None = None
    shader_sha256: str | None = None
    dispatches: int = 0
    elapsed_ns: float | None = None  # wall time on the page
    compile_ns: float | None = None  # from asking the library to its compiled pipelines
    first_result_ns: float | None = None  # from the same moment to the end of the first pass
    gpu_ns: float | None = None  # of the kernel alone, by timestamps
    adapter: Mapping[str, Any] | None = None
    engine: str | None = None
    warnings: list[str] | tuple[str, ...] = ()
    error: RunError | None = None
    source: str | None = None  # the file of a kernel that is not ours; the page does not tell this

    def __post_init__(self) -> None:
        error: object = self.error
        if isinstance(error, Mapping):  # straight from the JSON
            object.__setattr__(self, "error", RunError(**error))


@dataclass(frozen=True)
class OutputReport:
    """How one output compares with its bounds; ``worst_ratio`` up to 1 is right."""

    worst_ratio: float
    worst: Worst
    bad: int
    total: int
    nan: int
    inf: int
    where: str = ""
    """Where the elements beyond their bound lie, as a sentence; "" if there are none."""

    @classmethod
    def of(cls, comparison: Comparison, where: str = "") -> OutputReport:
        c = comparison
        return cls(c.worst_ratio, c.worst, c.wrong, c.total, c.nan, c.inf, where)

    def to_dict(self) -> dict[str, Any]:
        worst = self.worst
        return {
            "worst_ratio": jsonable(self.worst_ratio),
            "worst": {
                "index": list(worst.index.values()),
                "tile": None if worst.tile is None else list(worst.tile.values()),
                "actual": jsonable(worst.actual),
                "expected": jsonable(worst.expected),
                "allowed": jsonable(worst.allowed),
            },
            "bad": self.bad,
            "total": self.total,
            "nan": self.nan,
            "inf": self.inf,
            "where": self.where,
        }


@dataclass(frozen=True)
class Finding:
    """The first check that failed, on which output, and what it found in one sentence."""

    check: str
    output: str
    sentence: str

    def to_dict(self) -> dict[str, str]:
        return {"check": self.check, "output": self.output, "sentence": self.sentence}


@dataclass(frozen=True)
class Control:
    """A negative control: does it change the truth, do the bounds notice, how far is it off."""

    changes: bool
    caught: bool
    ratio: float  # largest |difference| / allowed

    def to_dict(self) -> dict[str, Any]:
        return {"changes": self.changes, "caught": self.caught, "ratio": jsonable(self.ratio)}


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome of one run of one case."""

    case: str
    kernel: str
    status: str
    message: str
    outputs: Mapping[str, OutputReport] = field(default_factory=dict)
    controls: Mapping[str, Control] = field(default_factory=dict)
    kappa: float = KAPPA
    input_sha256: str = ""
    shader_sha256: str = ""
    adapter: Mapping[str, Any] | None = None
    engine: str = ""
    passes: tuple[Mapping[str, Any], ...] = ()
    """The kernels that ran: ``{"kernel", "tile": the numbers of the tile row, "roles"}``."""
    elapsed_ns: float | None = None
    compile_ns: float | None = None
    first_result_ns: float | None = None
    gpu_ns: float | None = None
    """GPU time of the first pass, of a backward without the forward before it; None where there
    are no timestamps, or they are too coarse. The GPU was cold: `fa2 bench` measures."""
    edited: tuple[str, ...] = ()
    """Shader files of which an edited text ran instead of the shipped one, by path."""
    told: int = 0
    """Values that the kernels told of their state: a trace, or dbg()."""
    warnings: tuple[str, ...] = ()
    finding: Finding | None = None
    """Of a failed run only."""
    error: RunError | None = None
    """Kind and place of the reason, for status ``error`` and ``skip``; the JSON has ``message``."""

    @property
    def ok(self) -> bool:
        return self.status == "pass"

    @property
    def asides(self) -> tuple[str, ...]:
        """Warnings that the message does not tell: the page's own, on how the case was computed."""
        told = self.message.splitlines()
        return tuple(text for text in self.warnings if text not in told)

    def to_dict(self) -> dict[str, Any]:
        """Ready for ``json.dumps(…, allow_nan=False)``.

        Numbers that JSON lacks are the strings ``"NaN"``, ``"inf"`` and ``"-inf"``. ``worst.index``
        follows the axes b, i, h, d (o, dq), b, j, hkv, d (dk, dv), b, h, i (lse) or b, h, i, j
        (attn, dbias) whatever the layout; ``worst.tile`` holds the number of the query tile, the
        key tile or both, in that order of axes.
        """
        return {
            "case": self.case,
            "kernel": self.kernel,
            "status": self.status,
            "message": self.message,
            "outputs": {name: output.to_dict() for name, output in self.outputs.items()},
            "controls": {name: control.to_dict() for name, control in self.controls.items()},
            "kappa": jsonable(self.kappa),
            "input_sha256": self.input_sha256,
            "shader_sha256": self.shader_sha256,
            "adapter": jsonable(self.adapter),
            "engine": self.engine,
            "passes": jsonable(self.passes),
            "elapsed_ns": jsonable(self.elapsed_ns),
            "compile_ns": jsonable(self.compile_ns),
            "first_result_ns": jsonable(self.first_result_ns),
            "gpu_ns": jsonable(self.gpu_ns),
            "edited": list(self.edited),
            "told": self.told,
            "warnings": list(self.warnings),
            "finding": None if self.finding is None else self.finding.to_dict(),
            "error": None if self.error is None else asdict(self.error),
        }


def jsonable(value: Any) -> Any:
    """Plain JSON values from mappings, sequences and numbers.

    >>> jsonable({"a": (1.5, float("-inf"))})
    {'a': [1.5, '-inf']}
    """
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def replay(
    case: object, kappa: float = KAPPA, without: Sequence[str] = (), source: str | None = None
) -> str:
    """The command and the URL path that run the case again; ``without``: features withheld;
    ``source``: the file of a kernel that is not ours.

    >>> replay("forward:T=8,D=4")
    "fa2 run 'forward:T=8,D=4' · /webgpu-test?case=forward:T=8,D=4&run=1"
    """
    url = quote(str(case), safe=":=,")
    option = "" if kappa == KAPPA else f" --kappa {kappa:g}"
    option += "".join(f" --without {shlex.quote(name)}" for name in without)
    if source is not None:
        return f"fa2 check {shlex.quote(source)} '{case}'{option}"
    query = f"&without={quote(','.join(without), safe=',')}" if without else ""
    return f"fa2 run '{case}'{option} · /webgpu-test?case={url}&run=1{query}"


def circumstances(case: object, done: Done | None, kappa: float, *, replayable: bool = True) -> str:
    """The closing lines of a message: kernel, adapter, shader, and how to run it again."""
    lines = []
    if done is not None and done.kernel:
        shader = f", shader {done.shader_sha256[:12]}…" if done.shader_sha256 else ""
        lines.append(f"kernel {done.kernel}{shader}, on {adapter_text(done)}")
    if replayable:
        source = None if done is None else done.source
        lines.append(f"again: {replay(case, kappa, _withheld(done), source)}")
    else:
        lines.append(f"the inputs were the caller's own; the case without them: {case}")
    return "\n".join(lines)


def adapter_text(done: Done) -> str:
    """Adapter and engine in a few words."""
    known = done.adapter or {}
    names = (known.get(key) for key in ("description", "device", "architecture", "vendor"))
    name = next((str(n) for n in names if n), "an unnamed adapter")
    fallback = " (software)" if known.get("fallback") else ""
    without = "".join(f" without {feature}" for feature in _withheld(done))
    return f"{name}{fallback}{without}" + (f", {done.engine}" if done.engine else "")


def _withheld(done: Done | None) -> Sequence[str]:
    """Features that the adapter has and that the kernels had to do without."""
    known = (done.adapter if done else None) or {}
    return tuple(known.get("withheld", ()))


def from_done(case: object, done: Done | None, kappa: float, **fields: Any) -> Report:
    """A report whose circumstances are those that the page told."""
    kernel = getattr(case, "kernel", "auto")
    if done is None:
        return Report(case=str(case), kernel=kernel, kappa=kappa, **fields)
    warnings = tuple(done.warnings) + tuple(fields.pop("warnings", ()))
    return Report(
        case=str(case),
        kernel=done.kernel or kernel,
        kappa=kappa,
        input_sha256=done.input_sha256 or "",
        shader_sha256=done.shader_sha256 or "",
        adapter=done.adapter,
        engine=done.engine or "",
        passes=tuple(done.passes),
        elapsed_ns=done.elapsed_ns,
        compile_ns=done.compile_ns,
        first_result_ns=done.first_result_ns,
        gpu_ns=done.gpu_ns,
        warnings=warnings,
        **fields,
    )


def skipped(case: object, done: Done, kappa: float = KAPPA) -> Report:
    """The library refused the case by name, before anything was allocated."""
    error = done.error or RunError("unsupported")
    message = error.message or "refused without a reason"
    return from_done(case, done, kappa, status="skip", message=message, error=error)


def failed_to_run(
    case: object,
    kind: str,
    message: str,
    done: Done | None = None,
    kappa: float = KAPPA,
    *,
    replayable: bool = True,
) -> Report:
    """Nothing could be judged: page, device, timeout, compile. ``kind`` as in ``errors.py``;
    ``replayable``: the inputs were those of the case's seed.
    """
    told = None if done is None else done.error
    error = told if told is not None and told.kind == kind else RunError(kind, message)
    place = ""
    if error.file:
        place = ":".join(str(part) for part in (error.file, error.line, error.column) if part)
    text = f"{place}: {message}" if place and place not in message else message
    said = circumstances(case, done, kappa, replayable=replayable)
    text = f"{text or 'no reason was given'}\n{said}"
    return from_done(case, done, kappa, status="error", message=text, error=error)
