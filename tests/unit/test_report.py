"""Reports as JSON and as text."""

from __future__ import annotations

import json
import shlex
from urllib.parse import parse_qs, urlsplit

import pytest

from server.cases import Case
from server.report import Done, RunError, failed_to_run, jsonable, replay, skipped


def test_numbers_that_json_lacks_become_words():
    found = jsonable({"a": [float("nan"), float("inf"), -float("inf"), 1.5], "b": None, 3: True})
    assert found == {"a": ["NaN", "inf", "-inf", 1.5], "b": None, "3": True}
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    "case",
    ["forward:T=8,D=4,window=2:-1", "backward:Tq=3,Tk=9,D=4,scale=-0.5,seed=18446744073709551615"],
)
def test_the_replay_line_reads_back_as_the_same_case(case):
    command, _, url = replay(Case.parse(case)).partition(" · ")
    assert command == f"fa2 run '{case}'"
    query = parse_qs(urlsplit(url).query)
    assert query == {"case": [case], "run": ["1"]}


def test_kappa_is_replayed_when_it_is_not_the_default():
    assert "--kappa 8" in replay("forward:T=8,D=4", 8.0)
    assert "kappa" not in replay("forward:T=8,D=4", 4.0)


def test_features_withheld_are_told_and_replayed():
    adapter = {"vendor": "v", "fallback": True, "withheld": ["shader-f16", "subgroups"]}
    told = Done(status="ok", kernel="k", adapter=adapter, engine="E")
    report = failed_to_run(Case.parse("forward:T=8,D=4"), "page", "broken", told)
    assert "on v (software) without shader-f16 without subgroups, E" in report.message
    command, _, url = report.message.splitlines()[-1].partition(" · ")
    assert command == "again: fa2 run 'forward:T=8,D=4' --without shader-f16 --without subgroups"
    assert parse_qs(urlsplit(url).query)["without"] == ["shader-f16,subgroups"]


def test_words_of_the_command_that_runs_again_stay_words_of_a_shell():
    told = replay("forward:T=8,D=4", without=["x; rm -rf ~"], source="my kernels/a'b.wgsl")
    words = shlex.split(told)
    assert words == ["fa2", "check", "my kernels/a'b.wgsl", "forward:T=8,D=4", "--without",
                     "x; rm -rf ~"]  # fmt: skip
    assert " " not in replay("forward:T=8,D=4", without=["a b"]).partition("/webgpu-test")[2]


def test_an_error_without_any_word_from_the_page_is_a_whole_report():
    report = failed_to_run(Case.parse("forward:T=8,D=4,kernel=fa2"), "timeout", "30 s passed")
    assert (report.status, report.kernel, report.error) == (
        "error", "fa2", RunError("timeout", "30 s passed"),
    )  # fmt: skip
    assert report.message.startswith("30 s passed\nagain: fa2 run 'forward:T=8,D=4,kernel=fa2'")
    found = report.to_dict()
    json.dumps(found, allow_nan=False)
    assert found["adapter"] is None
    assert found["outputs"] == {}
    assert found["error"] == {
        "kind": "timeout", "message": "30 s passed", "file": None, "line": None, "column": None,
    }  # fmt: skip


def test_the_error_of_the_page_is_kept_only_for_its_own_kind():
    told = Done(status="error", error={"kind": "compile", "message": "m", "file": "f", "line": 2})
    assert failed_to_run("forward:T=8,D=4", "compile", "m", told).error.line == 2
    lost = failed_to_run("forward:T=8,D=4", "device-lost", "gone", told).error
    assert (lost.kind, lost.line) == ("device-lost", None)


def test_what_the_page_told_is_in_the_report():
    told = Done(
        status="skip", kernel="fa2", engine="E", elapsed_ns=2.5, gpu_ns=1.5, warnings=["w"],
        compile_ns=0.5, first_result_ns=2.0,
        adapter={"vendor": "v", "limits": {"a": float("inf")}},
        error={"kind": "unsupported", "message": "no"},
    )  # fmt: skip
    found = skipped("forward:T=8,D=4", told).to_dict()
    assert found["adapter"] == {"vendor": "v", "limits": {"a": "inf"}}
    assert (found["engine"], found["elapsed_ns"], found["gpu_ns"]) == ("E", 2.5, 1.5)
    assert (found["compile_ns"], found["first_result_ns"]) == (0.5, 2.0)
    assert found["warnings"] == ["w"]
