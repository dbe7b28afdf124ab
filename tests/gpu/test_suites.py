"""The shipped kernels pass the suites on the session's browser; `make full` runs all of `full`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from server.cases import Case
from server.pytest_plugin import fa2_cases
from server.report import Report

Run = Callable[[Case], Report]


@fa2_cases("seed", "smoke", "edges")
def test_a_case_passes(case: Case, fa2_run: Run) -> None:
    report = fa2_run(case)
    assert report.outputs, "nothing was judged"


@pytest.mark.parametrize("name", ["o", "lse", "attn"])
def test_every_output_of_a_case_is_judged(name: str, fa2_run: Run) -> None:
    report = fa2_run(Case.parse("forward:T=16,H=4,D=8,attn=1"))
    output = report.outputs[name]
    assert output.total > 0
    assert 0 < output.worst_ratio < 1
