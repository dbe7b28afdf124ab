"""Why an output is wrong, as a line of its report: the mistake that its values look like."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from server.judged_parts import NotJudged, Subject
from server.report import Report
from server.run import Run
from server.suspects import MOST_SCORES, UNTRIED, suspects
from server.truths import Truths

MOST = 3
"""Failures of a command that are looked into: the mistake of a kernel is often the same one."""
BUDGET_BYTES = 1 << 26


class Told(Protocol):
    """A Harness, as far as it is needed here."""

    def why(self) -> str: ...


class Reasons:
    """Adds ``why: …`` to the first reports of a command that fail."""

    def __init__(self, most: int = MOST) -> None:
        self._left = most

    def added(self, report: Report, harness: Told) -> Report:
        """The report of the run before, with the line where there is one."""
        if report.status != "fail" or self._left == 0:
            return report
        self._left -= 1
        said = harness.why()
        return replace(report, message=f"{report.message}\nwhy: {said}") if said else report


def why(run: Run) -> str:
    """What the first wrong output of a finished run looks like, in a sentence; "" where nothing is
    known, the outputs are not at hand, or a head has too many scores to be computed on the side.
    """
    case, found = run.case, run.report
    scores = case.Tq * case.Tk * case.H // case.Hkv
    if found is None or run.done is None or scores > max(MOST_SCORES.values()):
        return ""
    subject = Subject.of(run, Truths(BUDGET_BYTES))
    for name, output in found.outputs.items():
        if not output.bad or name not in run.tensors:
            continue
        try:
            with np.errstate(all="ignore"):  # wrong values may be anything
                said = suspects(subject, name, output.worst.index)
        except NotJudged:
            continue
        if said and not said[0].startswith(UNTRIED):
            return _sentence(name, said)
    return ""


def _sentence(name: str, said: list[str]) -> str:
    if said[0].startswith("as if"):
        return f"{name} looks {', or '.join(said)}"
    return f"in {name}, {said[0]}"
