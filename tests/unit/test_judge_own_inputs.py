"""The judge of a run whose inputs were the caller's own, which no seed makes again."""

from __future__ import annotations

import numpy as np
import pytest
from fake_upload import done, results, uploads, verdict_on

from server.cases import Case
from server.errors import ShapeError
from server.inputs import make_inputs
from server.report import RunError

SMALL = Case.parse("forward:B=2,T=20,H=3,D=4,attn=1")


def test_own_inputs_are_judged_and_said_to_be_unrepeatable():
    inputs = make_inputs(SMALL.replace(seed=5))
    assert verdict_on(SMALL, inputs=inputs).ok
    wrong = uploads(SMALL, results(SMALL))
    report = verdict_on(SMALL, wrong, told=done(SMALL, inputs), inputs=inputs)
    assert report.status == "fail"
    assert "again:" not in report.message
    assert "the caller's own" in report.message


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"status": "error", "error": RunError("compile", "line 3")}, "line 3"),
        ({"dispatches": 0}, "nothing was dispatched"),
        ({"input_sha256": "0" * 64}, "from other inputs"),
    ],
)
def test_an_error_with_own_inputs_does_not_name_a_command_that_runs_others(fields, says):
    inputs = make_inputs(SMALL.replace(seed=5))
    report = verdict_on(SMALL, {}, told=done(SMALL, inputs, **fields), inputs=inputs)
    assert (report.status, says in report.message) == ("error", True)
    assert "again:" not in report.message
    assert "the inputs were the caller's own" in report.message


def test_equal_own_values_get_the_bound_of_equal_terms():
    case = Case.parse("forward:Tq=2,Tk=1500,D=2,causal=0")
    inputs = make_inputs(case)
    inputs["q"][:] = 0
    inputs["v"][:] = 1.1
    report = verdict_on(case, inputs=inputs)
    assert report.ok, report.message


@pytest.mark.parametrize("name", ["q", "v"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_own_inputs_that_are_not_finite_are_an_error(name, value):
    inputs = make_inputs(SMALL)
    inputs[name][0, 0, 0, 0] = value
    told = done(SMALL, inputs)
    report = verdict_on(SMALL, uploads(SMALL, results(SMALL)), told=told, inputs=inputs)
    assert report.status == "error"
    assert f"{name} holds NaN or infinity" in report.message


def test_a_bias_of_minus_infinity_masks_a_key():
    case = Case.parse("backward:T=12,H=2,D=4,bias=tt")
    inputs = make_inputs(case)
    inputs["bias"][3] = -np.inf
    inputs["bias"][5, 2] = -np.inf
    report = verdict_on(case, inputs=inputs)
    assert report.ok, report.message


def test_own_inputs_of_another_shape_are_refused():
    inputs = make_inputs(SMALL.replace(T=21))
    with pytest.raises(ShapeError, match="q has shape"):
        verdict_on(SMALL, uploads(SMALL, results(SMALL)), told=done(SMALL, inputs), inputs=inputs)
