"""Exit codes, the lines of `fa2 run`, and the files it writes."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from server.cases import Case
from server.console import Printer, check_lines
from server.junit import to_xml, write_junit
from server.report import OutputReport, Report, RunError
from server.results import Results
from server.selection import Selected
from server.verdict import Worst

CASE = "forward:T=8,D=4"


def output(ratio: float, bad: int = 0) -> OutputReport:
    worst = Worst({"b": 0, "i": 1, "h": 0, "d": 2}, {"i": 0}, 1.0, 1.5, 0.25)
    return OutputReport(ratio, worst, bad, 32, 0, 0)


def report(status: str = "pass", **fields: Any) -> Report:
    outputs = {"o": output(0.25), "lse": output(0.5)} if status in ("pass", "vacuous") else {}
    defaults: dict[str, Any] = {"case": CASE, "kernel": "fa2_forward", "message": "why"}
    return Report(**{**defaults, "status": status, "outputs": outputs, **fields})


def error(kind: str) -> Report:
    return report("error", error=RunError(kind, "why"))


def results(*reports: Report, named: bool = False) -> Results:
    found = Results({"adapter": {"vendor": "acme", "fallback": True}, "engine": "Chromium 1"})
    for one in reports:
        found.add(Selected(Case.parse(CASE), named), one)
    return found


PASS, FAIL, SKIP = report(), report("fail"), report("skip", error=RunError("unsupported"))


@pytest.mark.parametrize(
    ("reports", "code"),
    [
        ([PASS], 0),
        ([PASS, SKIP], 0),
        ([PASS, FAIL], 1),
        ([PASS, report("vacuous")], 1),
        ([PASS, error("compile")], 1),
        ([error("compile")], 1),
        ([error("page")], 1),
        ([SKIP, SKIP], 3),
        ([], 3),
        ([PASS, FAIL, error("no-adapter")], 3),
        ([PASS, error("no-adapter"), error("timeout")], 4),
        ([FAIL, error("device-lost")], 4),
    ],
)
def test_the_worst_that_happened_is_the_exit_code(reports: list[Report], code: int) -> None:
    assert results(*reports).exit_code() == code


def test_a_refused_case_that_was_named_is_a_usage_error() -> None:
    assert results(SKIP, named=True).exit_code() == 2
    assert results(PASS, SKIP, named=True).exit_code() == 2
    assert results(FAIL, SKIP, named=True).exit_code() == 1


def test_an_interrupted_run_says_so_whatever_it_found() -> None:
    found = results(FAIL)
    found.interrupted = True
    assert found.exit_code() == 130
    assert found.to_dict()["interrupted"]


def test_only_what_did_not_pass_runs_again() -> None:
    reports = [PASS, SKIP, FAIL, report("vacuous"), error("timeout")]
    assert len(results(*reports).failed) == 3


def test_a_check_is_an_output_and_lse_stands_with_o() -> None:
    passed = report(outputs={"o": output(0.25), "lse": output(0.5), "attn": output(0.125)})
    assert check_lines(passed) == [("PASS", "o 0.25  lse 0.5"), ("PASS", "attn 0.125")]


def test_the_check_that_failed_is_the_one_that_says_so() -> None:
    outputs = {"o": output(0.25), "lse": output(7.0, 3), "attn": output(0.5)}
    words = [word for word, _ in check_lines(report("fail", outputs=outputs))]
    assert words == ["FAIL", "PASS"]
    outputs["lse"] = output(float("nan"), 1)
    assert check_lines(report("fail", outputs=outputs))[0][0] == "FAIL"


def test_a_failure_that_no_ratio_shows_fails_every_line() -> None:
    outputs = {"o": output(0.25), "attn": output(0.5)}
    words = [word for word, _ in check_lines(report("fail", outputs=outputs))]
    assert words == ["FAIL", "FAIL"]
    assert check_lines(FAIL) == [("FAIL", "")]


def printed(found: Results, selected: int | None = None) -> list[str]:
    stream = io.StringIO()
    printer = Printer(Console(file=stream, width=20, soft_wrap=True, highlight=False, markup=False))
    for one in found.reports:
        printer.report(one)
    printer.summary(found, len(found.entries) if selected is None else selected)
    return stream.getvalue().splitlines()


def test_a_line_is_never_wrapped_and_the_last_one_sums_up() -> None:
    lines = printed(results(PASS, PASS))
    assert lines[0] == f"PASS    {CASE}  o 0.25  lse 0.5"
    assert len(lines) == 3
    assert lines[-1].startswith("ALL PASS: 2 checks in 2 cases, ")
    assert lines[-1].endswith(f"worst |error|/allowed 0.5 (lse of {CASE})")


def test_nothing_short_of_all_is_called_all_pass() -> None:
    assert printed(results(PASS, FAIL, error("page")))[-1].startswith("1 FAILED, 1 ERROR: ")
    assert printed(results(report("vacuous")))[-1].startswith("1 VACUOUS: ")
    assert printed(results(SKIP))[-1].startswith("NOTHING RAN: ")
    assert "1 refused" in printed(results(PASS, SKIP))[-1]
    stopped = results(PASS)
    stopped.interrupted = True
    assert printed(stopped, 9)[-1].startswith("INTERRUPTED: 1 check in 1 case of 9 selected")


def test_the_message_of_a_failure_follows_its_line() -> None:
    lines = printed(results(report("fail", message="first\nsecond")))
    assert lines[:3] == [f"FAIL    {CASE}", "        first", "        second"]


def test_a_warning_of_the_page_follows_the_first_case_that_has_it() -> None:
    warned = replace(PASS, message="o 0.25\nsampled", warnings=("no tuned table", "sampled"))
    lines = printed(results(warned, PASS, warned))
    assert lines[1] == "        no tuned table"
    assert len(lines) == 5, lines


def test_the_json_file_is_strict_json_and_makes_its_folder(tmp_path: Path) -> None:
    outputs = {"o": output(float("inf"), 3)}
    file = tmp_path / "a" / "b.json"
    results(report("fail", outputs=outputs), SKIP).write_json(file)
    found = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert found["counts"] == {"pass": 0, "fail": 1, "vacuous": 0, "error": 0, "skip": 1}
    assert (found["engine"], found["adapter"]["vendor"]) == ("Chromium 1", "acme")
    assert found["results"][0]["outputs"]["o"]["worst_ratio"] == "inf"
    assert found["results"][1]["status"] == "skip"


def test_junit_counts_every_case_once(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    write_junit(results(PASS, FAIL, report("vacuous"), error("timeout"), SKIP), file)
    (suite,) = ET.parse(file).getroot()
    expected = {"tests": "5", "failures": "2", "errors": "1", "skipped": "1"}
    assert expected.items() <= suite.attrib.items()
    tags = [{child.tag for child in case} - {"system-out"} for case in suite]
    assert tags == [set(), {"failure"}, {"failure"}, {"error"}, {"skipped"}]
    assert "lse |error|/allowed: 0.5" in (suite[0].findtext("system-out") or "")


def test_junit_holds_any_text() -> None:
    hostile = "]]> <&\"'> \x00\x08\x1b[31m \ud800 \ufffe \U0001f600 é\r\n\ttail"
    text = to_xml(results(report("fail", message=hostile)))
    (failure,) = ET.fromstring(text).iter("failure")
    assert failure.text is not None
    for kept in ("]]> <&\"'>", "\\x00", "\\x1b[31m", "\\ud800", "\\ufffe", "\U0001f600 é", "tail"):
        assert kept in failure.text
    text.encode("utf-8")
