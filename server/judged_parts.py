"""A finished run's outputs beside truth and bounds, a few heads at a time.

The judge measures a case at once; who looks at it afterwards asks for a head, or goes through all
of them without holding them all. Truth and bounds are the judge's own functions, applied to the
part of the problem that the heads need: one key head with the query heads that read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from server.attention_problem import Array, Problem
from server.cases import Case
from server.inputs import TAGS, few_weights, make_inputs
from server.judge import problem_of, tile_of
from server.measure import BY_KEY, Bounds, Sample, measure, part_of, sample_of
from server.outputs import AXES, logical, outputs_of
from server.run import Run
from server.truths import Truths
from server.verdict import Output

ALONE = ("attn", "dbias")
"""Outputs that are measured only when asked for: T² elements, or a sum over the whole problem."""


class NotJudged(LookupError):
    """There is no such head, or it was not among the sample that was judged."""


@dataclass(frozen=True)
class Part:
    """One batch and one key head; dbias, a sum over heads, has one part: the whole of it."""

    b: int
    kv_head: int


@dataclass(frozen=True)
class Subject:
    """A run that can be looked at. ``tensors``: its outputs, in their shapes in memory."""

    id: str
    case: Case
    tensors: Mapping[str, Array]
    tile: Mapping[str, int]
    bounds: Bounds
    inputs: Mapping[str, Array] | None  # None: those of the case's seed
    sampled_above: int | None
    truths: Truths

    @classmethod
    def of(cls, run: Run, truths: Truths) -> Subject:
        """``run`` is finished and its inputs are known."""
        assert run.done is not None
        few = run.seeded and few_weights(run.case)
        return cls(
            id=run.id,
            case=run.case,
            tensors=dict(run.tensors),
            tile=tile_of(run.done),
            bounds=Bounds(run.kappa, few, run.case.dtype == "f16"),
            inputs=run.inputs,
            sampled_above=run.sampled_above,
            truths=truths,
        )

    @property
    def input_names(self) -> list[str]:
        return [name for name in TAGS if name in self.case.shapes()]

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The inputs in logical order."""
        if self.inputs is not None:
            return self.inputs
        return self.truths.get(
            (self.id, "inputs"), lambda: make_inputs(self.case), lambda made: _bytes(*made.values())
        )

    @property
    def problem(self) -> Problem:
        return problem_of(self.case, self.arrays)

    def sample(self) -> Sample | None:
        """What the judge looked at; None = everything."""
        return sample_of(self.problem, self.tile, self.case.seed, self.sampled_above)

    def parts(self, name: str) -> Iterator[Part]:
        """The parts of an output that were judged."""
        case, sample = self.case, self.sample()
        if name == "dbias":
            yield Part(0, 0)
        elif sample is not None and name in BY_KEY:
            yield from (Part(sample.batch, int(n)) for n in sample.kv_heads)
        else:
            yield from (Part(b, n) for b in range(case.B) for n in range(case.Hkv))

    def measured(self, name: str, part: Part) -> Output:
        """The part of an output with the axes of ``AXES``; coords name what is not all there."""
        together = self._together(name)
        outputs = self.truths.get(
            (self.id, part, *together),
            lambda: {o.name: o for o in self._measure(together, part)},
            lambda found: sum(_bytes(o.actual, o.expected, o.allowed) for o in found.values()),
        )
        return outputs[name]

    def head(self, name: str, b: int, h: int) -> Output:
        """One head (a key head of dk, dv) without its axes: [R] or [R, columns].

        Raises NotJudged.
        """
        B, H = heads_of(self.case, name)
        if not (b < B and h < H):
            raise NotJudged(f"{name} of {self.case} has b < {B} and h < {H}")
        group = self.case.H // self.case.Hkv
        kv_head = 0 if name == "dbias" else h if name in BY_KEY else h // group
        found = self.measured(name, Part(0 if name == "dbias" else b, kv_head))
        chosen = {"b": b, "h": h, "hkv": h}
        index = tuple(
            _position(found, axis, chosen[axis]) if axis in chosen else slice(None)
            for axis in found.axes
        )
        return replace(
            found,
            axes=tuple(axis for axis in found.axes if axis not in chosen),
            actual=found.actual[index],
            expected=found.expected[index],
            allowed=found.allowed[index],
        )

    def _together(self, name: str) -> list[str]:
        """What one walk over the scores gives beside ``name``, for as good as nothing."""
        if name in ALONE:
            return [name]
        others = [n for n in self.tensors if n not in ALONE]
        if self.sample() is None:
            return others
        return [n for n in others if (n in BY_KEY) == (name in BY_KEY)]  # two walks

    def _measure(self, names: list[str], part: Part) -> list[Output]:
        specs = {spec.name: spec for spec in outputs_of(self.case)}
        actual = {n: logical(self.case, specs[n], self.tensors[n]) for n in names}
        problem, sample = self.problem, self.sample()
        if names == ["dbias"]:
            return measure(problem, actual, self.bounds, sample).outputs
        group = self.case.H // self.case.Hkv
        heads = {"h": np.arange(group) + part.kv_head * group, "hkv": np.array([part.kv_head])}
        mine = {}
        for name, array in actual.items():
            axis = next(axis for axis in AXES[name] if axis in heads)
            one = array[part.b : part.b + 1].take(heads[axis], AXES[name].index(axis))
            mine[name] = one  # a copy: nothing kept here holds on to the whole
        if sample is not None:
            sample = replace(sample, batch=0, kv_heads=np.array([0]))
        problem = part_of(problem, part.b, np.array([part.kv_head]))
        where = {"b": np.array([part.b]), **heads}
        return [
            replace(o, coords={**o.coords, **{a: where[a] for a in o.axes if a in where}})
            for o in measure(problem, mine, self.bounds, sample).outputs
        ]


def heads_of(case: Case, name: str) -> tuple[int, int]:
    """Over how many batches and heads an output extends (dbias: those that its bias has)."""
    if name == "dbias":
        B, H = logical_shape(case, name)[:2]
        return B, H
    return case.B, case.Hkv if name in BY_KEY else case.H


def logical_shape(case: Case, name: str) -> tuple[int, ...]:
    """The shape of an output in logical order, which ``AXES`` names."""
    spec = next(spec for spec in outputs_of(case) if spec.name == name)
    return logical(case, spec, np.broadcast_to(np.float32(0), spec.shape)).shape


def _position(output: Output, axis: str, wanted: int) -> int:
    """Where a batch or head stands in the part; NotJudged if it was not judged."""
    known = output.coords.get(axis)
    if known is None:
        return wanted
    at = np.flatnonzero(np.asarray(known) == wanted)
    if not at.size:
        raise NotJudged(f"{output.name}: {axis} = {wanted} is not among what was judged")
    return int(at[0])


def _bytes(*arrays: Array) -> int:
    return sum(array.nbytes for array in arrays)
