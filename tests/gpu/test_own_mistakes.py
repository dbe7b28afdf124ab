"""Mistakes that only some shapes show: each is found by a case that `fa2 check` runs by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server import own_kernel
from server.cases import Case
from server.harness import Harness
from server.own_cases import cases_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "row_per_invocation.wgsl"
CLAMPED = "min(i32(i) + sizes.causal_offset, i32(Tk) - 1)"
EVERY_KEY = "j <= last;"

MISTAKES = {
    "a batch of keys as long as one of queries": (
        "(b * Tk + u32(j))",
        "(b * Tq + u32(j))",
        "B=2,Tq=19,Tk=45,H=2,D=16",
    ),
    "the sign of the scale": (
        "s *= sizes.sm_scale",
        "s *= abs(sizes.sm_scale)",
        "T=35,H=2,D=16,scale=-0.5",
    ),
    "rows after the last key": (
        CLAMPED,
        "i32(i) + sizes.causal_offset",
        "Tq=45,Tk=19,H=2,D=16,align=tl",
    ),
    "pairs for any group": (
        "h / sizes.group",
        "h / min(sizes.group, 2u)",
        "B=2,Tq=21,Tk=34,H=6,Hkv=2,D=24",
    ),
    "one row": (EVERY_KEY, "j <= select(last, min(last, 31), Tq == 1);", "Tq=1,Tk=70,H=2,D=8"),
    "keys after 128 without a mask": (
        EVERY_KEY,
        "j <= select(min(last, 127), last, IS_CAUSAL);",
        "T=300,H=2,D=8,causal=0",
    ),
    "a head size that it has no room for": (
        "MAX_HEAD_DIM = 128u",
        "MAX_HEAD_DIM = 64u",
        "T=17,D=129",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_some_shapes_is_found(harness: Harness, name: str) -> None:
    old, new, shape = MISTAKES[name]
    own: dict[str, Any] = own_kernel.read(EXAMPLE)
    (file,) = (file for file in own["files"] if file.endswith(".wgsl"))
    assert old in own["files"][file]
    own["files"] = {**own["files"], file: own["files"][file].replace(old, new)}
    if "D=129" in shape:
        own["manifest"] = {**own["manifest"], "supports": {}}  # as who never thought of it
    case = Case.parse(f"forward:{shape}")
    assert case in cases_for(own)
    report = harness.run(case, own=own)
    assert report.status == "fail", report.message
    assert report.outputs["o"].worst_ratio > 1000
