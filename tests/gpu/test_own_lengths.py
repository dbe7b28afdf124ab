"""The cases of `fa2 check` are longer than what a kernel takes in one step, however wide it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server import own_kernel
from server.harness import Harness
from server.own_cases import cases_for

TEXT = (Path(__file__).parents[1] / "data" / "strided_keys.wgsl").read_text(encoding="utf-8")
MANIFEST = {"grid": ["T", "H", "B"], "outputs": ["o"], "supports": {"max_D": 16}}


def strided(lanes: int, change: tuple[str, str] = ("", "")) -> dict[str, Any]:
    """The kernel whose lanes share the keys of a row, with so many of them, changed."""
    text = TEXT.replace("LANES = 128u", f"LANES = {lanes}u")
    assert change[0] in text
    files = {"strided.wgsl": text.replace(*change)}
    return own_kernel.checked({"name": "strided", "manifest": MANIFEST, "files": files})


@pytest.mark.parametrize("lanes", [128, 256])
def test_a_wide_kernel_that_does_not_rescale_its_sum_fails_in_the_small_suite(
    harness: Harness, lanes: int
) -> None:
    right, wrong = strided(lanes), strided(lanes, ("l * alpha + p", "l + p"))
    cases = [case for case in cases_for(wrong) if case.Hkv == case.H and case.Tq > 1]
    longest = max(cases, key=lambda case: (case.Tq, case.dist == "growing"))
    assert harness.run(longest, own=right).ok
    report = harness.run(longest, own=wrong)
    assert report.status == "fail", report.message
    assert report.outputs["o"].worst_ratio > 1000
