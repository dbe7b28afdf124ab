"""From uploaded tensors to a report: pure, so it may run in any thread, any number at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import numpy as np

from server import report, verdict
from server.attention_problem import Array, Problem, rows_with_keys
from server.cases import Case
from server.controls import negative_controls
from server.errors import CaseError, ShapeError
from server.inputs import digest, few_weights, make_inputs
from server.measure import Bounds, Measured, Sample, measure, sample_of
from server.outputs import AXES, OutputSpec, logical, outputs_of, want
from server.patterns import Bools, Geometry, describe
from server.poison import is_poison
from server.report import Control, Done, Finding, OutputReport, Report
from server.tolerance import KAPPA
from server.verdict import Comparison, Failure, compare


def judge(
    case: Case,
    *,
    tensors: Mapping[str, Array],
    done: Done,
    poison: tuple[int, int],
    kappa: float = KAPPA,
    inputs: Mapping[str, Array] | None = None,
    sampled_above: int | None = None,
    outputs: Collection[str] | None = None,
) -> Report:
    """The report on what a page uploaded.

    ``tensors``: every tensor of ``outputs.want(case)``, flat or shaped, little-endian dtypes as
    named there; ``outputs``: of these outputs alone, and the report says so. ``poison``: the fill
    words of both passes. ``inputs``: the caller's own arrays in logical order; None: those of the
    case's seed. ``sampled_above``: of longer sequences only some rows and keys are judged.

    Whatever the kernel did becomes a Report. Raises ShapeError when ``inputs`` do not fit the case
    and CaseError when the poison words cannot do their work.
    """
    failed = partial(_failed, case, done, kappa, seeded=inputs is None)
    if done.status == "skip":
        return report.skipped(case, done, kappa)
    if done.status != "ok" or done.error is not None:
        error = done.error or report.RunError("page", f"the page ended with {done.status!r}")
        return failed(error.kind, error.message)
    if len(set(poison)) != 2 or not all(is_poison(word) for word in poison):
        shown = ", ".join(f"0x{word:08x}" for word in poison)
        raise CaseError(f"poison words {shown}: they must differ and be NaN as f32 and as two f16")
    if done.dispatches < 1:
        message = "nothing was dispatched: the outputs cannot come from the kernel"
        return failed("page", message)
    own = make_inputs(case) if inputs is None else dict(inputs)
    expected = digest(own)
    if done.input_sha256 != expected:
        message = (
            f"the page computed from other inputs: their SHA-256 is "
            f"{done.input_sha256 or 'missing'}, that of the case is {expected}. A stale tab or a "
            "changed generator does this; reload the page"
        )
        return failed("page", message)
    for name, array in own.items():
        if not (np.isfinite(array) | (np.isneginf(array) & (name == "bias"))).all():
            message = f"{name} holds NaN or infinity; only a bias may hold −inf (a masked key)"
            return failed("case", message)
    with np.errstate(all="ignore"):
        specs = outputs_of(case, outputs)
        return _judge(
            case, specs, tensors, done, poison, kappa, own, sampled_above, seeded=inputs is None
        )


def _failed(
    case: Case, done: Done, kappa: float, kind: str, message: str, *, seeded: bool
) -> Report:
    return report.failed_to_run(case, kind, message, done, kappa, replayable=seeded)


def _judge(
    case: Case,
    specs: Sequence[OutputSpec],
    tensors: Mapping[str, Array],
    done: Done,
    poison: tuple[int, int],
    kappa: float,
    inputs: Mapping[str, Array],
    sampled_above: int | None,
    *,
    seeded: bool,
) -> Report:
    names = [spec.name for spec in specs]
    wrong = verdict.structure(want(case, names), tensors)
    if wrong is not None:
        return _report(case, done, kappa, wrong, seeded=seeded)
    problem = problem_of(case, inputs)
    tile = tile_of(done)
    sample = sample_of(problem, tile, case.seed, sampled_above)
    bounds = Bounds(kappa, seeded and few_weights(case), case.dtype == "f16")
    measured = measure(problem, actual_of(case, tensors, names), bounds, sample, also=("lse",))
    comparisons = [compare(output, tile) for output in measured.outputs]
    _, high = problem.key_range(np.arange(case.Tq))
    geometry = Geometry(tile, high - 1, case.offset)
    beyond = [output.name for output in measured.outputs if not verdict.fits_its_type(output)]
    failure = _first_failure(
        case, specs, problem, tensors, poison, measured, comparisons, geometry, beyond
    )
    controls = {}
    if not beyond:
        truth = {name: array for name, array in measured.truth.items() if name in names}
        controls = negative_controls(problem, truth, measured.allowed, measured.rows)
    doubts = _doubts(measured, controls, beyond)
    said = [] if sample is None else [_said(case, sample)]
    if left_out := [spec.name for spec in outputs_of(case) if spec.name not in names]:
        said.append(f"not judged, since the kernel's manifest leaves it out: {', '.join(left_out)}")
    where = {c.output.name: verdict.where_wrong(c, geometry) for c in comparisons}
    return _report(
        case, done, kappa, failure, comparisons, where, controls, said, doubts, seeded=seeded
    )


def problem_of(case: Case, inputs: Mapping[str, Array]) -> Problem:
    """What the reference computes for the case. Raises ShapeError if the inputs do not fit it."""
    for name, shape in case.shapes().items():
        if name != "attn" and inputs[name].shape != shape:
            raise ShapeError(f"{name} has shape {inputs[name].shape}; {case} takes {shape}")
    return Problem(
        inputs["q"], inputs["k"], inputs["v"],
        scale=float(case.scale_f32),
        do=inputs.get("do"),
        bias=inputs.get("bias"),
        causal=case.causal,
        offset=case.offset,
        window=case.window,
        softcap=case.softcap,
    )  # fmt: skip


def actual_of(
    case: Case, tensors: Mapping[str, Array], names: Collection[str] | None = None
) -> dict[str, Array]:
    """The uploaded outputs (``names``: some of them) in logical order."""
    specs = outputs_of(case, names)
    return {spec.name: logical(case, spec, tensors[spec.name]) for spec in specs}


def tile_of(done: Done) -> dict[str, int]:
    """``{"i": Br, "j": Bc}`` as far as the page told usable sizes."""
    told = done.tile or {}
    sizes = {axis: told.get(key) for axis, key in (("i", "Br"), ("j", "Bc"))}
    return {axis: size for axis, size in sizes.items() if isinstance(size, int) and size > 0}


def _first_failure(
    case: Case,
    specs: Sequence[OutputSpec],
    problem: Problem,
    tensors: Mapping[str, Array],
    poison: tuple[int, int],
    measured: Measured,
    comparisons: list[Comparison],
    geometry: Geometry,
    beyond: Sequence[str],
) -> Failure | None:
    """The first check that failed; values are not looked at in the outputs named ``beyond``."""
    by_name = {spec.name: spec for spec in specs}
    passes = {n: (tensors[n].ravel(), tensors[f"{n}.repeat"].ravel()) for n in by_name}

    def where(name: str, marked: Bools) -> str:
        shaped = logical(case, by_name[name], marked)
        return describe(shaped, AXES[name], {}, geometry)

    found = (
        verdict.guards(tuple(by_name), tensors, poison)
        or verdict.written(passes, where, poison)
        or verdict.repeated(passes, where)
    )
    if found is not None:
        return found
    if measured.rows is None:
        empty = np.isneginf(measured.truth["lse"])
    else:
        empty = ~rows_with_keys(problem)
    comparisons = [c for c in comparisons if c.output.name not in beyond]
    for name in (c.output.name for c in comparisons):
        first, _ = passes[name]
        found = verdict.finite(name, first, empty.ravel() if name == "lse" else None, where)
        if found is not None:
            return found
    return verdict.bounded(comparisons, geometry)


def _doubts(
    measured: Measured, controls: Mapping[str, Control], beyond: Sequence[str]
) -> list[str]:
    """Why outputs within their bounds would prove nothing; empty if they do prove something."""
    found = []
    if beyond:
        names = ", ".join(beyond)
        found.append(
            f"right values of {names}, give or take their bounds, lie beyond the largest number of "
            "their type"
        )
    widest = float(measured.allowed["lse"].max())  # κuW, the part by which a weight may be off
    if widest > 1:
        found.append(
            f"in some row the bound is {widest:.2g} times what it bounds, so large are its scores "
            "(or κ)"
        )
    missed = [f"{n} ({c.ratio:.2g})" for n, c in controls.items() if c.changes and not c.caught]
    if missed:
        found.append(
            f"a known mistake changes the result by less than the bounds: {', '.join(missed)}"
        )
    if controls and not any(control.changes for control in controls.values()):
        # As where every value that is judged is zero: a kernel that computes nothing is right.
        found.append(f"no known mistake changes the result: {', '.join(controls)}")
    return found


def _report(
    case: Case,
    done: Done,
    kappa: float,
    failure: Failure | None,
    comparisons: Sequence[Comparison] = (),
    where: Mapping[str, str] | None = None,
    controls: Mapping[str, Control] | None = None,
    warnings: Sequence[str] = (),
    doubts: Sequence[str] = (),
    *,
    seeded: bool,
) -> Report:
    ratios = ", ".join(f"{c.output.name} {c.worst_ratio:.3g}" for c in comparisons)
    if failure is not None:
        status, lines = "fail", [failure.message]
        if ratios and failure.check != "bounded":
            lines.append(f"The numbers beside that: {ratios} of what is allowed.")
    elif doubts:
        status = "vacuous"
        other = "another seed, dist or scale" if seeded else "other inputs"
        lines = [
            f"no failure ({ratios} of what is allowed), but proof of nothing: {'; '.join(doubts)}. "
            f"Use {other}, larger sizes or a smaller κ"
        ]
    else:
        status, lines = "pass", [f"{ratios} of what is allowed, κ = {kappa:g}"]
    lines += warnings
    if status != "pass":
        lines.append(report.circumstances(case, done, kappa, replayable=seeded))
    return report.from_done(
        case,
        done,
        kappa,
        status=status,
        message="\n".join(lines),
        outputs={
            c.output.name: OutputReport.of(c, (where or {})[c.output.name]) for c in comparisons
        },
        finding=failure and Finding(failure.check, failure.output, failure.sentence),
        controls=controls or {},
        warnings=warnings,
    )


def _said(case: Case, sample: Sample) -> str:
    text = f"a sample was judged: {len(sample.rows)} of {case.Tq} rows of every head"
    if case.op == "backward":
        heads = ", ".join(map(str, sample.kv_heads))
        text += f"; dk and dv on {len(sample.keys)} of {case.Tk} keys of key heads {heads} in "
        text += f"batch {sample.batch}"
    return text + " (guards, written, repeated and finite were checked everywhere)"
