"""A broken kernel: one edit of a shipped file, the case that shows it, what the judge says then."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from server.harness import Harness
from server.paths import STATIC

SHADERS = STATIC / "shaders"


@dataclass(frozen=True)
class Mutant:
    """``new`` in place of ``old`` in ``file``; the verdict's text must begin with ``says``."""

    name: str
    case: str
    old: str
    new: str
    says: str
    file: str = "fa2_forward.wgsl"

    def shaders(self) -> dict[str, str]:
        shipped = (SHADERS / self.file).read_text(encoding="utf-8")
        assert shipped.count(self.old) == 1, f"{self.name}: the shipped text has changed"
        broken = shipped.replace(self.old, self.new)
        assert broken != shipped
        return {self.file: broken}

    def must_fail(self, harness: Harness) -> None:
        report = harness.run(self.case, shaders=self.shaders())
        assert report.status == "fail", f"{report.status}: {report.message}"
        assert re.match(self.says, report.message), report.message


def both_tests(
    mutants: Sequence[Mutant], kernels: str = ""
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Two tests of a file: that the shipped kernels (one of whose names has ``kernels``) pass what
    the broken ones must fail, and that each broken one fails."""

    @pytest.mark.parametrize("case", sorted({mutant.case for mutant in mutants}))
    def shipped(harness: Harness, case: str) -> None:
        report = harness.run(case)
        assert report.status == "pass", report.message
        assert any(kernels in ran["kernel"] for ran in report.passes), report.passes

    @pytest.mark.parametrize("mutant", mutants, ids=lambda mutant: mutant.name)
    def broken(harness: Harness, mutant: Mutant) -> None:
        mutant.must_fail(harness)

    return shipped, broken
