"""The line that names the mistake in a failing report: for the first failures, and in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_harness import report as report_of
from fake_upload import done, results, uploads, verdict_on

from server.cases import Case
from server.outputs import outputs_of, want
from server.run import Run
from server.why import MOST, Reasons, why

CASE = "forward:B=2,T=37,H=2,D=8"


def finished(text: str, kappa: float = 4.0, **mistake: Any) -> Run:
    """A run of a right algorithm with a mistake, judged."""
    case = Case.parse(text)
    tensors = uploads(case, results(case, **mistake))
    run = Run(
        case=case, page=None, kappa=kappa, deadline_s=60, want={s.name: s for s in want(case)}
    )
    run.uploads, run.done = dict(tensors), done(case)
    run.settle(verdict_on(case, tensors, kappa=kappa))
    return run


@pytest.mark.parametrize("text", [CASE, "backward:T=24,H=4,Hkv=2,D=8"])
def test_the_first_wrong_output_is_said_to_look_like_the_mistake(text: str) -> None:
    run = finished(text, scale=1.0)
    assert run.report is not None
    assert run.report.status == "fail"
    assert why(run) == "o looks as if the scale of the scores were left out"


def test_a_right_run_and_one_without_outputs_are_not_explained() -> None:
    assert why(finished(CASE)) == ""
    strict = finished(CASE, kappa=1e-6)
    assert strict.report is not None
    assert strict.report.status == "fail"
    assert why(strict) == ""
    run = finished(CASE, scale=1.0)
    run.drop_arrays()
    assert why(run) == ""


def test_values_that_look_like_nothing_known_are_not_explained() -> None:
    run = finished(CASE, scale=1.0)
    rng = np.random.default_rng(1)
    for spec in outputs_of(run.case):
        noise = rng.normal(size=spec.shape).astype(np.float32)
        run.tensors = {**run.tensors, spec.name: noise}
    assert why(run) == ""


def test_a_case_with_too_many_scores_is_left_alone_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = finished(CASE, scale=1.0)
    run.case = Case.parse("forward:T=4096,D=64")
    monkeypatch.setattr("server.why.suspects", pytest.fail)  # which would compute for minutes
    assert why(run) == ""


class Asked:
    """A harness that counts how often it looked."""

    times = 0

    def why(self) -> str:
        self.times += 1
        return "o looks as if it were wrong" if self.times != 2 else ""


def test_the_first_failures_of_a_command_get_the_line_and_no_others() -> None:
    harness, reasons = Asked(), Reasons()
    assert reasons.added(report_of("pass", "fine"), harness).message == "fine"
    assert reasons.added(report_of("error", "lost"), harness).message == "lost"
    said = [reasons.added(report_of("fail", "off"), harness).message for _ in range(MOST + 2)]
    line = "off\nwhy: o looks as if it were wrong"
    assert said == [line, "off", line, "off", "off"]
    assert harness.times == MOST
