"""Reports that travel as JSON come back as they were."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import pytest
from fake_upload import ADAPTER

from server.errors import PageError
from server.report import Control, Finding, OutputReport, Report, failed_to_run
from server.report_read import read_report
from server.verdict import Worst

ERROR = failed_to_run("forward:T=8,D=4", "timeout", "30 s passed")


def test_a_failed_report_with_every_field_comes_back_equal() -> None:
    worst = Worst({"b": 0, "i": 5, "h": 1, "d": 3}, {"i": 1}, math.inf, -0.25, 1e-9)
    report = Report(
        case="backward:T=8,D=4", kernel="fa2", status="fail", message="o: wrong\nthere",
        outputs={
            "o": OutputReport(math.inf, worst, 3, 64, 0, 1),
            "lse": OutputReport(
                0.5, Worst({"b": 0, "h": 0, "i": 2}, None, 1.0, 1.0, 0.1), 0, 8, 0, 0
            ),
            "attn": OutputReport(
                2.0,
                Worst({"b": 0, "h": 0, "i": 2, "j": 7}, {"i": 0, "j": 1}, 0.0, 1.0, 0.5),
                1, 64, 0, 0, "all in key tile 1",
            ),
        },
        controls={"zeros": Control(True, True, math.inf)},
        kappa=2.0, input_sha256="ab", shader_sha256="cd", adapter=ADAPTER, engine="E",
        passes=({"kernel": "fa2", "tile": {"TX": 4}, "roles": {}},),
        elapsed_ns=1.5, gpu_ns=2.0, edited=("fa2.wgsl",), told=3, warnings=("w",),
        finding=Finding("bounds", "o", "the last rows"),
    )  # fmt: skip
    assert read_report(json.loads(json.dumps(report.to_dict(), allow_nan=False))) == report
    unset = [one.name for one in fields(Report) if getattr(report, one.name) == one.default]
    assert unset == ["compile_ns", "first_result_ns", "error"], "a new field is to be read as well"


def test_an_error_comes_back_with_its_kind() -> None:
    assert read_report(ERROR.to_dict()).error == ERROR.error


@pytest.mark.parametrize(
    "found",
    [{}, {"case": "x"}, {**ERROR.to_dict(), "outputs": {"o": {}}}],
)
def test_what_is_no_report_is_said_to_be_none(found: dict[str, object]) -> None:
    with pytest.raises(PageError, match="no report"):
        read_report(found)
