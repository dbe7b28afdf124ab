"""The kernels on the matrix unit, judged where the adapter has one; elsewhere refused by name.

No software adapter has subgroup matrices of f16, so on such a machine every judged test here is a
skip that tells what is missing. A GPU's browser needs switches for them: see the README. Cases
whose row maxima keep growing matter most: without them the forward's rescaling hardly ever runs.
"""

from __future__ import annotations

from functools import partial

import pytest
from mutant import Mutant

from server.harness import Harness
from server.report import Report

Forward = partial(Mutant, file="fa2_forward_matrix.wgsl")
DkDv = partial(Mutant, file="fa2_dkdv_matrix.wgsl")
Dq = partial(Mutant, file="fa2_dq_matrix.wgsl")
Shared = partial(Mutant, file="common/matrix_backward.wgsl")


def forward(case: str) -> str:
    return f"forward:{case},dtype=f16,kernel=fa2_forward_matrix"


def backward(case: str) -> str:
    return f"backward:{case},dtype=f16,kernel=fa2_backward_matrix"


SHORT = "T=32,D=16"
GROUPED = "B=2,T=300,H=4,Hkv=2,D=64"  # no multiple of any tile
GROWING = "T=1024,H=2,D=64,dist=growing"
BLIND = "Tq=70,Tk=5,H=2,Hkv=1,D=64"  # the first 65 rows see no key


NEEDED = {"shader-f16", "chromium-experimental-subgroup-matrix"}


def refused(report: Report) -> bool:
    """Whether an adapter that lacks what the kernels need is told so; one that has it must pass."""
    if set(report.adapter["features"]) >= NEEDED:
        assert report.status == "pass", report.message
        return False
    assert report.status == "skip", report.message
    assert "kernel fa2_forward_matrix does not fit" in report.message
    assert any(feature in report.message for feature in NEEDED), report.message
    return True


def test_an_adapter_without_matrices_is_refused_by_name(harness: Harness) -> None:
    refused(harness.run(forward(SHORT)))


@pytest.fixture(scope="module")
def matrices(harness: Harness) -> Harness:
    report = harness.run(forward(SHORT))
    if refused(report):
        pytest.skip(report.message)
    return harness


@pytest.mark.parametrize(
    "shape",
    [
        SHORT,
        GROUPED,
        GROWING,
        BLIND,
        "T=2048,H=2,D=64",  # the tile for long sequences
        "T=2049,D=64,dist=growing",
        "T=300,H=2,D=128",
        "T=200,D=80",
        "Tq=16,Tk=300,H=2,D=64",
        "Tq=77,Tk=333,H=2,D=64,align=tl",
        "B=2,Tq=77,Tk=333,H=4,Hkv=2,D=64,causal=0",
        "T=200,H=2,D=64,scale=-0.3",
        "T=200,H=2,D=64,dist=large",
        "T=200,H=2,D=64,dist=zeros",
        "T=200,H=2,D=64,dist=ties",
        "T=100,H=2,D=64,layout=bhtd",
        "T=100,H=2,D=64,layout=packed",
    ],
)
def test_both_directions_are_right(matrices: Harness, shape: str) -> None:
    for case in (forward(shape), backward(shape)):
        report = matrices.run(case)
        assert report.status == "pass", f"{case}: {report.message}"


MUTANTS = [
    Forward("O keeps its scale", forward(GROWING), "S_tile[O_lane] *= alpha;", "", "o: .* beyond"),
    Forward("the sum keeps its scale", forward(GROWING), "l_i *= alpha;", "", "o: .* beyond"),
    Forward("P outgrows f16", forward(GROWING), "GROWTH = 15.0", "GROWTH = 40.0", "o: "),
    Forward("a key too many", forward(GROUPED), "j < vec4<u32>(end)", "j <= vec4<u32>(end)", "o: "),
    Forward(
        "a tile twice", forward(GROUPED), "j0 + 2u * BC + key", "j0 + BC + key", "o: .* beyond"
    ),
    Forward("wrong key head", forward(GROUPED), "item.h / params.group", "0u", "o: .* beyond"),
    Forward("binary logarithm", forward(GROUPED), "log2(l)) * LN_2", "log2(l))", "lse: .* beyond"),
    Forward(
        "half a row twice",
        forward(GROUPED),
        "l_i + subgroupShuffleXor(l_i, 16u)",
        "2.0 * l_i",
        "o: ",
    ),
    DkDv("a row too few", backward(GROUPED), "rows >= vec4", "rows > vec4", "d[kv]: .* beyond"),
    DkDv("another row's delta", backward(GROUPED), "r2.y, r3.y)", "r2.y, r2.y)", "dk: .* beyond"),
    DkDv(
        "scale left out of half of dK",
        backward(GROUPED),
        "pack(S_tile[O_lane] * params.scale",
        "pack(S_tile[O_lane]",
        "dk: .* beyond",
    ),
    DkDv(
        "tile overwritten in use",
        backward(GROUPED),
        "let at = SLOT - tile_at",
        "let at = tile_at",
        "d[kv]: ",
    ),
    Shared(
        "first head only",
        backward(GROUPED),
        "min(now.x + 1u, params.group - 1u)",
        "now.x",
        "d[kv]: ",
    ),
    Shared(
        "rows past the end", backward(GROUPED), "i < params.Tq && given.x", "given.x", "d[kv]: "
    ),
    Dq("a key too many", backward(GROUPED), "j < vec4<u32>(end)", "j <= vec4<u32>(end)", "dq: "),
    Dq(
        "scale left out",
        backward(GROUPED),
        "pack(S_tile[O_lane] * params.scale",
        "pack(S_tile[O_lane]",
        "dq: ",
    ),
    Dq("a tile of K twice", backward(GROUPED), "K_slot = SLOT - K_slot;", "K_slot = 0u;", "dq: "),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_matrix_kernel_fails(matrices: Harness, mutant: Mutant) -> None:
    mutant.must_fail(matrices)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_matrix_kernel_differs_from_the_shipped_one(mutant: Mutant) -> None:
    mutant.shaders()
