"""Reads what ``repro.py`` has packed, as data from somebody else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from server import own_kernel
from server.cases import Case
from server.errors import CaseError
from server.history_own import FOLDER as OWN
from server.history_own import MANIFEST
from server.outputs import OutputSpec, outputs_of
from server.problems import Problem
from server.repro import FORMAT, SHADERS
from server.safe_zip import read_zip
from server.schemas import Feature
from server.shader_files import MAX_TEXT
from server.shader_texts import REGISTRY
from server.strict_json import parse

MIB = 1 << 20
MOST_FILE = 256 * MIB  # of the zip itself
MOST_TOTAL = 384 * MIB  # of all that is in it
MOST_FILES = 300
MOST_JSON = 4 * MIB
MOST_NPZ = 256 * MIB

_JSON = frozenset({"case.json", "report.json", "environment.json", "outputs.json", REGISTRY})
_NEEDED = ("case.json", "report.json", "outputs.json")
_SHADER = re.compile(r"shaders/(?:[a-z0-9_-]+/)*[a-z0-9_-]+\.wgsl")
_OWN = re.compile(r"own/[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}\.wgsl")
LONGEST_NAME = 200

M = TypeVar("M", bound=BaseModel)

Short = Annotated[str, Field(max_length=200)]


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class AskedOwn(_Model):
    """A kernel that is not ours; ``files`` are the names of its texts under ``own/``."""

    name: Short
    manifest: dict[str, Any]
    files: list[Short] = Field(min_length=1, max_length=8)


class Asked(_Model):
    """``case.json``: what was run. A newer version may say more."""

    format: int
    run: Short = ""
    kind: Short = "run"
    finished: Short = ""
    case: Annotated[str, Field(max_length=1000)]
    kappa: Annotated[float | int, Field(gt=0, le=1e6)] = 4.0
    without: list[Feature] = Field(default=[], max_length=40)
    seeded: bool = True
    edited: list[Short] = Field(default=[], max_length=100)
    trace: dict[Short, int] | None = None
    own: AskedOwn | None = None


class ToldPass(_Model):
    kernel: Short
    tile: dict[Short, int | bool] = Field(default={}, max_length=64)
    roles: dict[Short, Short] = Field(default={}, max_length=16)


class ToldOutput(_Model):
    worst_ratio: float | int | str


class Told(_Model):
    """``report.json``, as far as it is compared."""

    status: Annotated[str, Field(max_length=20)]
    kernel: Short = ""
    engine: Annotated[str, Field(max_length=1000)] = ""
    adapter: dict[str, Any] | None = None
    message: str = ""
    input_sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    shader_sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    passes: list[ToldPass] = Field(default=[], max_length=16)
    outputs: dict[Short, ToldOutput] = Field(default={}, max_length=16)
    report: Told | None = None  # of a benchmark: that of its check


class Digest(_Model):
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Repro:
    """A run from elsewhere. ``outputs``: those that were kept, in the case's shapes."""

    asked: Asked
    case: Case
    told: Told
    digests: dict[str, str]  # SHA-256 by output
    shaders: dict[str, str]  # texts by path under static/shaders/
    own: dict[str, Any] | None  # a kernel that is not ours, as a run takes it
    registry: str | None
    outputs: dict[str, npt.NDArray[Any]]


def read_repro(path: Path) -> Repro:
    """Raises CaseError for whatever is no repro, with the reason."""
    try:
        size = path.stat().st_size
        if size > MOST_FILE:
            raise CaseError(f"{path} has {size} bytes; a repro has at most {MOST_FILE}")
        data = path.read_bytes()
    except OSError as error:
        raise CaseError(f"{path} cannot be read: {error.strerror or error}") from None
    return parse_repro(data, str(path))


def parse_repro(data: bytes, what: str) -> Repro:
    """The same from bytes; ``what`` names them in errors."""
    files = read_zip(data, what=what, most_of=_most_of, files=MOST_FILES, total=MOST_TOTAL)
    for name in _NEEDED:
        if name not in files:
            raise CaseError(f"{what} has no {name}; `fa2 repro` writes one")
    asked = _model(Asked, files["case.json"], f"{what}: case.json")
    if asked.format != FORMAT:
        raise CaseError(f"{what} has format {asked.format}; this version reads {FORMAT}")
    case = Case.parse(asked.case)
    told = _model(Told, files["report.json"], f"{what}: report.json")
    outer = _object(files["outputs.json"], f"{what}: outputs.json")
    specs = {spec.name: spec for spec in outputs_of(case)}
    digests = {
        name: _checked(Digest, value, f"{what}: outputs.json").sha256
        for name, value in outer.items()
        if name in specs
    }
    return Repro(
        asked=asked,
        case=case,
        told=told.report or told,
        digests=digests,
        shaders=_texts(files, SHADERS, what),
        own=_own(asked.own, _texts(files, OWN, what), what),
        registry=_text(files[REGISTRY], what) if REGISTRY in files else None,
        outputs=_arrays(files["outputs.npz"], specs, what) if "outputs.npz" in files else {},
    )


def _own(asked: AskedOwn | None, texts: Mapping[str, str], what: str) -> dict[str, Any] | None:
    """Checked as every kernel that is not ours is; raises ManifestError, a CaseError."""
    if asked is None:
        return None
    for name in asked.files:
        if name not in texts:
            raise CaseError(f"{what}: case.json: own/files: there is no {OWN}{name[:80]}")
    files = {name: texts[name] for name in asked.files}
    return own_kernel.checked(
        {"name": asked.name, "manifest": asked.manifest, "files": files}, f"{what}: own"
    )


def _most_of(name: str) -> int | None:
    if len(name) > LONGEST_NAME:
        return None
    if name in _JSON or name == MANIFEST:
        return MOST_JSON
    if name == "README.txt":
        return MIB
    if name == "outputs.npz":
        return MOST_NPZ
    return MAX_TEXT if _SHADER.fullmatch(name) or _OWN.fullmatch(name) else None


def _texts(files: Mapping[str, bytes], folder: str, what: str) -> dict[str, str]:
    return {
        name.removeprefix(folder): _text(data, what)
        for name, data in files.items()
        if name.startswith(folder)
    }


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CaseError(f"{what} holds a text that is not UTF-8: {error}") from None


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        found = parse(data)
    except Problem as problem:
        raise CaseError(f"{what}: {problem.detail}") from None
    if not isinstance(found, dict):
        raise CaseError(f"{what} is no JSON object")
    return found


def _model(model: type[M], data: bytes, what: str) -> M:
    return _checked(model, _object(data, what), what)


def _checked(model: type[M], value: Any, what: str) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(map(str, first["loc"])) or "it"
        raise CaseError(f"{what}: {where}: {first['msg']}") from None


def _arrays(data: bytes, specs: Mapping[str, OutputSpec], what: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of ``outputs.npz``; each has to be what the case says its output is."""

    def most_of(name: str) -> int | None:
        spec = specs.get(name.removesuffix(".npy"))
        return None if spec is None or not name.endswith(".npy") else spec.bytes + 10_000

    where = f"{what}: outputs.npz"
    files = read_zip(data, what=where, most_of=most_of, files=len(specs), total=MOST_NPZ)
    return {
        name.removesuffix(".npy"): _array(file, specs[name.removesuffix(".npy")], where)
        for name, file in files.items()
    }


def _array(data: bytes, spec: OutputSpec, what: str) -> npt.NDArray[Any]:
    """An array in NumPy's format, which is a header and the bytes; pickles are no arrays here."""
    wrong = CaseError(
        f"{what}: {spec.name}.npy is no {spec.dtype} array of the shape {list(spec.shape)}"
    )
    magic = b"\x93NUMPY\x01\x00"
    if not data.startswith(magic) or len(data) < 10:
        raise wrong
    start = 10 + int.from_bytes(data[8:10], "little")
    header = data[10:start].decode("latin-1").strip()
    # What NumPy itself writes for exactly this array, and nothing else: no parser is needed.
    shape = "(" + ", ".join(map(str, spec.shape)) + ("," if len(spec.shape) == 1 else "") + ")"
    said = f"{{'descr': '{spec.numpy.str}', 'fortran_order': False, 'shape': {shape}, }}"
    if header != said or len(data) - start != spec.bytes:
        raise wrong
    return np.frombuffer(data, spec.numpy, offset=start).reshape(spec.shape)
