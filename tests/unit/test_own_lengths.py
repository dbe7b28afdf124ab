"""How long the cases of `fa2 check` are: longer than one step of the kernel, as far as it goes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from server import own_kernel
from server.cases import Case
from server.own_cases import LEAST_LONG, cases_for
from server.own_width import MOST, widest

ENTRY = "@compute @workgroup_size(64) fn main() {}"


def own(text: str = ENTRY, **manifest: Any) -> dict[str, Any]:
    said = {"grid": ["T"], **manifest}
    return own_kernel.checked({"name": "mine", "manifest": said, "files": {"mine.wgsl": text}})


@pytest.mark.parametrize(
    ("text", "manifest", "width"),
    [
        (ENTRY, {}, 64),
        ("@compute @workgroup_size(16, 8, 4) fn main() {}", {}, 512),
        (f"const TILE: u32 = 0x200u; {ENTRY}", {}, 512),
        (f"const WG = 32; const TILE = WG * u32(16); {ENTRY}", {}, 512),
        (f"override WG: u32 = 16u; {ENTRY}", {"constants": {"WG": 512}}, 512),
        (f"const A = 4u; {ENTRY}", {"tile": {"Br": 16, "Bc": "A * 128"}}, 512),
        (f"/* const A = 512u; */ {ENTRY}", {}, 64),
        (f"const BIG = 4096u; const X = 1.5; const Y = Z; {ENTRY}", {}, 64),
        ("@compute @workgroup_size(max(1, 2)) fn main() {}", {}, 1),
    ],
)  # fmt: skip
def test_the_widest_step_is_read_from_groups_constants_and_tile(
    text: str, manifest: dict[str, Any], width: int
) -> None:
    assert widest(own(text, **manifest)) == width


def longest(kernel: dict[str, Any]) -> Case:
    return max(cases_for(kernel), key=lambda case: case.Tq)


def test_there_are_growing_cases_longer_than_any_workgroup_and_than_this_kernels_step() -> None:
    for kernel in (own(), own("@compute @workgroup_size(16) fn main() {}", op="backward")):
        long = [c for c in cases_for(kernel) if c.Tq >= LEAST_LONG and c.dist == "growing"]
        assert {c.Hkv == c.H for c in long} == {True, False}
        assert {c.op for c in long} == {kernel["manifest"]["op"]}
    assert longest(own()).Tq == LEAST_LONG > 256
    assert longest(own("@compute @workgroup_size(1024) fn main() {}")).Tq > MOST


def test_long_cases_are_such_as_the_kernel_takes() -> None:
    assert longest(own(supports={"T_multiple_of": 64})).Tq == 320
    assert longest(own(supports={"max_T": 128, "T_multiple_of": 48})).Tq == 96
    assert longest(own(supports={"D_multiple_of": 16})).D == 16
    assert longest(own(supports={"max_D": 4})).D == 4


@pytest.mark.parametrize(
    "text", ["const A = " + "B * " * 60_000, "const " * 40_000, "@workgroup_size(" * 15_000]
)
def test_no_text_takes_long_to_look_through(text: str) -> None:
    kernel = own()
    kernel["files"] = {"mine.wgsl": text}
    started = time.process_time()
    assert widest(kernel) == 1
    assert time.process_time() - started < 1
