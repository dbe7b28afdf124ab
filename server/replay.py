"""Runs again what a repro holds, and tells what is the same here and what is not."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from server.adapters import adapter_name
from server.cases import Case
from server.errors import CaseError
from server.paths import STATIC
from server.report import Report, jsonable
from server.repro_file import Repro
from server.shader_texts import REGISTRY, ShaderTexts
from server.ulp import ulp_distance

Arrays = Mapping[str, npt.NDArray[Any]]

_FAMILIES = ("auto", "fa2", "baseline")
# What a row of tiles says besides its numbers: when it applies, its files, and why.
_NO_SIZE = re.compile(
    r"(min|max)[A-Z]\w*|causal|dtype|align|adapter|features|subgroups|matrix|roles|why"
)


class Runner(Protocol):
    """What of a Harness is needed."""

    last_outputs: Arrays

    def run(
        self,
        case: Case,
        *,
        kappa: float | None = None,
        shaders: Mapping[str, str] | None = None,
        tuned: Mapping[str, Any] | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> Report: ...


@dataclass(frozen=True)
class Plan:
    """How the run is asked for here; ``notes`` say what differs from there."""

    case: Case
    kappa: float
    shaders: dict[str, str]  # in place of the installed texts
    tuned: dict[str, Any] | None  # the tiles of there; None: those of here
    own: dict[str, Any] | None  # a kernel that is not ours
    notes: list[str]


@dataclass(frozen=True)
class OutputComparison:
    """An output of there beside that of here."""

    name: str
    recorded: float | str | None  # |error| / allowed
    here: float | None
    equal: bool | None  # bit for bit; None: there is nothing to compare with
    differing: int | None = None  # elements; None: only their digests are known
    ulp: float | None = None  # largest distance of those

    def said(self) -> str:
        if self.equal is None:
            return "not compared"
        if self.equal:
            return "bit-equal"
        if self.differing is None:
            return "not equal (only its digest was kept)"
        if not self.differing:
            return "equal but for the bits of NaN"
        return f"{self.differing} elements differ, at most {self.ulp:g} ULP"


@dataclass(frozen=True)
class Replayed:
    repro: Repro
    report: Report
    outputs: list[OutputComparison] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def same_verdict(self) -> bool:
        return self.report.status == self.repro.told.status

    @property
    def same_inputs(self) -> bool | None:
        return same(self.repro.told.input_sha256, self.report.input_sha256)

    @property
    def same_shader(self) -> bool | None:
        return same(self.repro.told.shader_sha256, self.report.shader_sha256)

    def to_dict(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        told = self.repro.told
        return {
            "case": self.repro.asked.case,
            "recorded": told.model_dump(include={"status", "kernel", "engine", "adapter"}),
            "same_verdict": self.same_verdict,
            "same_inputs": self.same_inputs,
            "same_shader": self.same_shader,
            "outputs": {
                one.name: {
                    "recorded": jsonable(one.recorded),
                    "here": jsonable(one.here),
                    "equal": one.equal,
                    "differing": one.differing,
                    "ulp": jsonable(one.ulp),
                }
                for one in self.outputs
            },
            "notes": self.notes,
            "report": self.report.to_dict(),
        }


def plan(repro: Repro, static: Path = STATIC, *, with_tiles: bool = True) -> Plan:
    """What has to be asked for here so that the same is run as there.

    ``with_tiles``: those of there can be asked for, which a page of another server does not take.
    Raises CaseError for a run that cannot be repeated: its inputs were somebody's own.
    """
    if not repro.asked.seeded:
        raise CaseError(
            "this run had its caller's own inputs, which a repro does not hold; "
            "only runs of a seed can be replayed"
        )
    installed = ShaderTexts(static).all()
    notes, shaders = [], {}
    for path, text in repro.shaders.items():
        if path not in installed:
            notes.append(f"{path} is no shader file of this version: left out")
        elif installed[path] != text:
            shaders[path] = text
    if shaders:
        notes.append(f"in place of the installed texts: {', '.join(shaders)}")
    registry = json.loads(installed.get(REGISTRY, '{"kernels": []}'))
    if repro.registry is not None and repro.registry != installed.get(REGISTRY):
        notes.append(f"{REGISTRY} is another one here")
    rows = {row["name"]: row for row in registry["kernels"]}
    case = repro.case
    if repro.own is None and case.kernel in _FAMILIES and repro.told.kernel in rows:
        case = case.replace(kernel=repro.told.kernel)  # not what is best here, but what ran there
    tiles = {} if repro.own else _tiles(repro, rows, notes)
    if tiles and not with_tiles:
        tiles = {}
        notes.append("tiles are chosen anew: the page takes none from here")
    tuned = {"kernels": tiles, "choices": []} if tiles else None
    return Plan(case, float(repro.asked.kappa), shaders, tuned, repro.own, notes)


def _tiles(
    repro: Repro, rows: Mapping[str, Any], notes: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """The tiles that were used there, for the kernels that have such tiles here."""
    found = {}
    for one in repro.told.passes:
        tiles: Sequence[Mapping[str, Any]] = rows.get(one.kernel, {}).get("tiles", ())
        sizes = {name for tile in tiles for name in tile if not _NO_SIZE.fullmatch(name)}
        if not sizes:
            continue
        if set(one.tile) != sizes:
            notes.append(f"the tile of {one.kernel} is none of this version's: chosen anew")
            continue
        roles = {"roles": one.roles} if one.roles else {}
        found[one.kernel] = [{**one.tile, **roles, "why": "as it was recorded"}]
    return found


def replay(
    repro: Repro, harness: Runner, static: Path = STATIC, *, with_tiles: bool = True
) -> Replayed:
    """Runs it on the harness's page. Raises CaseError as ``plan`` does, NoBrowser, NoAdapter."""
    wanted = plan(repro, static, with_tiles=with_tiles)
    report = harness.run(
        wanted.case,
        kappa=wanted.kappa,
        shaders=wanted.shaders,
        tuned=wanted.tuned,
        own=wanted.own,
    )
    outputs = compare(repro, report, harness.last_outputs)
    notes = wanted.notes
    if (
        repro.asked.trace is not None
        and same(repro.told.shader_sha256, report.shader_sha256) is False
    ):
        notes = [
            *notes,
            "recorded with the lines that tell a trace, and replayed without: the digests of the "
            "shader differ though the texts are equal",
        ]
    there, here = (adapter_name(dict(a or {})) for a in (repro.told.adapter, report.adapter))
    if wanted.case.op == "backward" and repro.own is None and there != here:
        # A backward names its own kernel; o and lse come from a forward that suits the adapter.
        notes = [*notes, "another adapter: the forward before the backward may be another kernel"]
    return Replayed(repro, report, outputs, notes)


def compare(repro: Repro, report: Report, here: Arrays) -> list[OutputComparison]:
    """Output by output, those that either side has."""
    told = repro.told.outputs
    found = []
    for name in dict.fromkeys([*told, *report.outputs]):
        recorded = told[name].worst_ratio if name in told else None
        ratio = report.outputs[name].worst_ratio if name in report.outputs else None
        equal, differing, ulp = _apart(repro, name, here.get(name))
        found.append(OutputComparison(name, recorded, ratio, equal, differing, ulp))
    return found


def _apart(
    repro: Repro, name: str, here: npt.NDArray[Any] | None
) -> tuple[bool | None, int | None, float | None]:
    there, digest = repro.outputs.get(name), repro.digests.get(name)
    if here is None or (there is None and digest is None):
        return None, None, None
    data = np.ascontiguousarray(here).data
    if digest is not None and hashlib.sha256(data).hexdigest() == digest:
        return True, 0, 0.0
    if there is None or there.shape != here.shape or there.dtype != here.dtype:
        return False, None, None
    if there.tobytes() == here.tobytes():
        return True, 0, 0.0
    with np.errstate(all="ignore"):
        differing = ~((there == here) | (np.isnan(there) & np.isnan(here)))
        distances = ulp_distance(here[differing], there[differing].astype(np.float64))
    count = int(differing.sum())
    # A NaN on one side is as far as it gets.
    worst = float(np.nan_to_num(distances, nan=np.inf, posinf=np.inf).max()) if count else 0.0
    return False, count, worst


def same(there: str, here: str) -> bool | None:
    """Whether two digests agree; None where one is not known."""
    return there == here if there and here else None
