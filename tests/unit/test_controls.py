"""Negative controls: known mistakes that the bounds of a case must notice."""

from __future__ import annotations

import numpy as np
import pytest
from fake_upload import POISON, done, results, uploads, verdict_on

from server import controls
from server.cases import Case
from server.inputs import make_inputs
from server.judge import judge

SMALL = Case.parse("forward:B=2,T=20,H=3,D=4,attn=1")
BACKWARD = Case.parse("backward:Tq=12,Tk=20,H=4,Hkv=2,D=4,layout=bhtd")


NAMES = ["zeros", "mean of V", "heads swapped", "mask off by one", "scale ×1.001"]


@pytest.mark.parametrize("case", [SMALL, BACKWARD], ids=str)
def test_every_control_changes_the_result_and_is_caught(case):
    found = verdict_on(case).controls
    assert list(found) == NAMES
    assert all(c.changes and c.caught and c.ratio > 1 for c in found.values())


def test_controls_that_cannot_change_anything_are_said_to():
    found = verdict_on("forward:B=2,T=20,D=4,dist=zeros").controls
    changes = {name: c.changes for name, c in found.items()}
    assert changes == dict(zip(NAMES, [True, False, False, True, False], strict=True))
    assert not found["scale ×1.001"].caught


def test_a_difference_by_float64_rounding_is_no_change():
    case = SMALL.replace(attn=False)
    inputs = make_inputs(case)
    inputs["v"][:] = 1.1  # the mean of V is V, up to the rounding of ΣP
    report = verdict_on(case, inputs=inputs)
    assert report.ok, report.message
    assert 0 < report.controls["mean of V"].ratio < 1e-8
    assert not report.controls["mean of V"].changes


def test_a_case_that_cannot_tell_a_control_from_the_truth_is_vacuous():
    report = verdict_on(SMALL, kappa=1e5)
    assert report.status == "vacuous"
    assert "scale ×1.001 (0." in report.message
    assert "--kappa 100000" in report.message
    assert not report.ok


@pytest.mark.parametrize("scale", ["1e6", "1e7"])
def test_bounds_far_beyond_the_values_do_not_hide_that_a_control_changes_them(scale):
    report = verdict_on(f"forward:T=16,H=2,D=8,scale={scale}")
    assert report.status == "vacuous"
    zeros = report.controls["zeros"]
    assert zeros.changes
    assert not zeros.caught


def test_a_huge_kappa_proves_nothing():
    report = verdict_on("forward:T=16,D=4,dist=zeros", kappa=1e8)
    assert report.status == "vacuous"
    assert report.controls["zeros"].changes


def test_outputs_that_no_control_changes_prove_nothing():
    """A kernel that computes nothing gives what is expected, and all five controls with it."""
    inputs = {name: np.zeros_like(array) for name, array in make_inputs(SMALL).items()}
    tensors = {n: a for n, a in uploads(SMALL, results(SMALL, inputs)).items() if n[0] == "o"}
    report = judge(
        SMALL,
        tensors=tensors,
        done=done(SMALL, inputs),
        poison=POISON,
        inputs=inputs,
        outputs=["o"],
    )
    assert not any(control.changes for control in report.controls.values())
    assert len(report.controls) == 5
    assert report.status == "vacuous"
    assert "no known mistake changes the result: zeros, " in report.message
    assert "Use other inputs" in report.message


def test_one_output_that_a_control_changes_is_enough():
    """Zeros again, but the log-sum-exp of n zeros is log n."""
    inputs = {name: np.zeros_like(array) for name, array in make_inputs(SMALL).items()}
    report = verdict_on(SMALL.replace(attn=False), inputs=inputs)
    assert report.ok, report.message
    assert not report.controls["zeros"].changes
    assert report.controls["mask off by one"].caught


@pytest.mark.parametrize("text", ["forward:T=1,D=1", "backward:T=1,D=1", "forward:Tq=1,Tk=3,D=2"])
def test_the_smallest_cases_prove_something(text):
    assert verdict_on(text).ok


def test_one_row_whose_bound_exceeds_its_weights_makes_a_case_vacuous():
    """Elsewhere every control is caught: without the row the same case passes."""
    inputs = make_inputs(SMALL)
    assert verdict_on(SMALL, inputs=inputs).ok
    inputs["q"][0, 7, 1] *= 2e6
    report = verdict_on(SMALL, inputs=inputs)
    assert all(c.caught for c in report.controls.values())
    assert report.status == "vacuous"
    assert "in some row the bound is" in report.message


def test_a_failure_is_a_failure_even_where_the_case_is_vacuous():
    tensors = uploads(SMALL, results(SMALL))
    tensors["o.guards"][0] = 0
    assert verdict_on(SMALL, tensors, kappa=1e5).status == "fail"


def test_each_control_is_what_its_name_says():
    """A kernel with that mistake fails, as the control said."""
    case = Case.parse("forward:B=1,T=9,H=2,D=3")
    x = make_inputs(case)
    mean = np.cumsum(x["v"], axis=1) / np.arange(1, 10, dtype=np.float32)[:, None, None]
    got = results(case)
    answers = {
        "zeros": got | {"o": 0 * got["o"]},
        "mean of V": got | {"o": mean},
        "heads swapped": {n: np.roll(a, 1, {"o": 2}.get(n, 1)) for n, a in got.items()},
        "mask off by one": results(case, offset=-1),
        "scale ×1.001": results(case, scale=float(case.scale_f32) * 1.001),
    }
    controls_said = verdict_on(case).controls
    for name, answer in answers.items():
        report = verdict_on(case, uploads(case, answer))
        assert report.status == "fail", name
        worst = max(o.worst_ratio for o in report.outputs.values())
        said = controls_said[name].ratio  # inf where a row is left without keys
        assert min(worst, 1e30) == pytest.approx(min(said, 1e30), rel=0.05), name


def test_large_problems_run_their_controls_on_some_rows(monkeypatch):
    whole = verdict_on(BACKWARD).controls
    monkeypatch.setattr(controls, "MAX_SCORES", 1)
    some = verdict_on(BACKWARD).controls
    assert all(c.caught for c in some.values())
    assert some["scale ×1.001"].ratio <= whole["scale ×1.001"].ratio
