"""The second engine: the same page in Firefox, with another compiler and another driver."""

from __future__ import annotations

from collections.abc import Iterator

import engines
import pytest
from mutant import SHADERS, Mutant

from server.cases import Case
from server.errors import NoAdapter
from server.harness import Harness
from server.pytest_plugin import fa2_cases

DIRECT, PACKED = "common/storage_f16.wgsl", "common/storage_f16_packed.wgsl"


@pytest.fixture(scope="module")
def firefox(pytestconfig: pytest.Config) -> Iterator[Harness]:
    """A Harness on Firefox."""
    engines.program(pytestconfig, "firefox")
    harness = Harness("firefox")
    try:
        harness.start()
    except NoAdapter as problem:
        engines.refuse_firefox(pytestconfig, problem)
    with harness:
        yield harness


@fa2_cases("seed")
def test_the_seed_suite_passes_on_firefox(case: Case, firefox: Harness) -> None:
    report = firefox.run(case)
    assert report.status == "pass", report.message


@fa2_cases("smoke")
def test_the_smoke_suite_passes_on_firefox(case: Case, firefox: Harness) -> None:
    report = firefox.run(case)
    assert report.status == "pass", report.message


WIDE_F16 = "forward:B=2,T=70,H=4,Hkv=2,D=20,dtype=f16,kernel=fa2_forward_wide"
F16 = "backward:B=2,T=21,H=4,Hkv=2,D=5,dtype=f16"


@pytest.mark.parametrize("case", [F16, "backward:T=19,H=3,D=3,dtype=f16"])
def test_f16_goes_through_shader_f16_here_and_passes_in_words_too(
    firefox: Harness, case: str
) -> None:
    """The packed file in the place of the other one: a browser less than with ``without``."""
    direct = firefox.run(case)
    assert direct.status == "pass", direct.message
    assert "shader-f16" in (direct.adapter or {})["features"]
    packed = firefox.run(case, shaders={DIRECT: (SHADERS / PACKED).read_text("utf-8")})
    assert packed.status == "pass", packed.message
    assert direct.shader_sha256 != packed.shader_sha256


MUTANTS = [
    Mutant("reads the neighbour", F16, "f32(K[at])", "f32(K[at ^ 1u])", "o: .* beyond", DIRECT),
    Mutant("dK is half a percent off", F16, "dK[at] = f16(value)", "dK[at] = f16(value * 1.005)",
           "dk: .* beyond", DIRECT),
    Mutant("two of four elements swapped", WIDE_F16, "O[at >> 2u] = vec4<f16>(value)",
           "O[at >> 2u] = vec4<f16>(value.yxzw)", "o: .* beyond", "common/storage_f16x4.wgsl"),
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_storage_of_shader_f16_fails(firefox: Harness, mutant: Mutant) -> None:
    mutant.must_fail(firefox)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("op", ["forward", pytest.param("backward", marks=pytest.mark.slow)])
def test_the_kernels_for_real_gpus_pass_on_firefox(firefox: Harness, op: str, dtype: str) -> None:
    """Three key tiles, ragged edges, two chunks of channels the last of which is not full."""
    kernel = f"fa2_{op}_wide"
    report = firefox.run(f"{op}:B=2,T=70,H=4,Hkv=2,D=20,dtype={dtype},kernel={kernel}")
    assert report.status == "pass", report.message
    assert report.kernel == kernel
    assert {ran["roles"]["storage"] for ran in report.passes} == {f"common/storage_{dtype}x4.wgsl"}


def test_firefox_is_named_in_its_reports(firefox: Harness) -> None:
    report = firefox.run("forward:T=16,D=8")
    assert (report.engine or "").startswith("Firefox")
    assert firefox.page_console is not None


def test_firefox_as_it_comes_has_no_webgpu_on_linux(firefox: Harness) -> None:
    with pytest.raises(NoAdapter) as caught, Harness("firefox", webgpu=False):
        pass
    assert caught.value.step == "navigator.gpu"
