"""Harness.attention: the caller's own arrays through the GPU, against the float64 reference."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from server.errors import CaseError, ShapeError, Unsupported
from server.harness import Harness
from server.reference import attention

B, TQ, TK, H, HKV, D = 2, 19, 33, 4, 2, 8
Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@pytest.fixture
def qkv() -> Arrays:
    """q [B,Tq,H·D], k and v [B,Tk,Hkv·D], float32."""
    rng = np.random.default_rng(7)
    shapes = ((B, TQ, H * D), (B, TK, HKV * D), (B, TK, HKV * D))
    q, k, v = (rng.standard_normal(shape, np.float32) for shape in shapes)
    return q, k, v


def truth(qkv: Arrays, **options: Any) -> dict[str, NDArray[np.float64]]:
    q, k, v = (x.astype(np.float32).reshape(*x.shape[:2], -1, D) for x in qkv)
    want = attention(q, k, v, **options)
    return want | {"o": want["o"].reshape(B, -1, H * D)}


def near(got: NDArray[Any], want: NDArray[Any]) -> None:
    assert got.dtype == np.float32
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"causal": False},
        {"align": "tl"},
        {"scale": 0.2},
        {"kernel": "baseline"},
        {"kernel": "fa2", "causal": False, "scale": -1.5},
    ],
    ids=str,
)
def test_own_arrays_give_what_the_reference_gives(
    harness: Harness, qkv: Arrays, options: dict[str, Any]
) -> None:
    got = harness.attention(*qkv, H=H, Hkv=HKV, return_attn=True, **options)
    options.pop("kernel", None)
    want = truth(qkv, **options)
    assert sorted(got) == ["attn", "lse", "o"]
    for name, array in got.items():
        near(array, want[name])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"causal": False, "scale": -0.4},
        {"align": "tl"},
        {"kernel": "baseline", "return_attn": True},
    ],
    ids=str,
)
def test_gradients_of_own_arrays_are_what_the_reference_gives(
    harness: Harness, qkv: Arrays, options: dict[str, Any]
) -> None:
    dO = np.random.default_rng(8).standard_normal((B, TQ, H * D), np.float32)
    got = harness.attention(*qkv, H=H, Hkv=HKV, dO=dO, **options)
    assert harness.last_report is not None
    assert harness.last_report.status == "pass"
    attn = ["attn"] if options.pop("return_attn", False) else []
    options.pop("kernel", None)
    want = truth(qkv, do=dO.reshape(B, TQ, H, D), **options)
    assert sorted(got) == [*attn, "dk", "dq", "dv", "lse", "o"]
    for name, heads in (("dq", H), ("dk", HKV), ("dv", HKV)):
        near(got[name], want[name].reshape(B, -1, heads * D))


def test_a_gradient_of_another_shape_is_refused(harness: Harness, qkv: Arrays) -> None:
    with pytest.raises(ShapeError, match=r"dO is \[2, 18, 32\], q is \[2, 19, 32\]"):
        harness.attention(*qkv, H=H, Hkv=HKV, dO=np.zeros((B, TQ - 1, H * D), np.float32))


def test_attn_is_returned_only_when_asked_for(harness: Harness, qkv: Arrays) -> None:
    assert sorted(harness.attention(*qkv, H=H, Hkv=HKV)) == ["lse", "o"]


def test_rows_that_see_no_key_are_zero_and_minus_infinity(harness: Harness, qkv: Arrays) -> None:
    q, k, v = qkv
    got = harness.attention(q, k[:, :5], v[:, :5], H=H, Hkv=HKV)
    assert not got["o"][:, : TQ - 5].any()
    assert (got["lse"][:, :, : TQ - 5] == -np.inf).all()
    assert np.isfinite(got["lse"][:, :, TQ - 5 :]).all()


def test_other_float_types_and_strided_arrays_are_converted(harness: Harness, qkv: Arrays) -> None:
    q, k, v = qkv
    plain = harness.attention(q, k, v, H=H, Hkv=HKV)
    double = harness.attention(*(x.astype(np.float64) for x in qkv), H=H, Hkv=HKV)
    strided = harness.attention(
        np.asfortranarray(q), np.repeat(k, 2, axis=1)[:, ::2], v.astype(">f4"), H=H, Hkv=HKV
    )
    for other in (double, strided):
        np.testing.assert_array_equal(other["o"], plain["o"])
    mixed = harness.attention(q.astype(np.float16), k, v, H=H, Hkv=HKV)
    near(mixed["o"], truth((q.astype(np.float16), k, v))["o"])


def test_float16_arrays_stay_float16(harness: Harness, qkv: Arrays) -> None:
    half = tuple(x.astype(np.float16) for x in qkv)
    dO = np.random.default_rng(3).standard_normal(half[0].shape).astype(np.float16)
    got = harness.attention(*half, H=H, Hkv=HKV, dO=dO)
    assert harness.last_report.status == "pass"
    assert "dtype=f16" in harness.last_report.case
    expected = truth(half)
    assert {got[name].dtype.name for name in ("o", "dq", "dk", "dv")} == {"float16"}
    np.testing.assert_allclose(got["o"].astype(float), expected["o"], atol=3e-3)
    near(got["lse"], expected["lse"])
    with pytest.raises(Unsupported, match="dtype=f16: kernel attn_fused_sv"):
        harness.attention(*half, H=H, Hkv=HKV, kernel="baseline")


def test_arguments_that_make_no_sense_are_refused_before_anything_runs(
    harness: Harness, qkv: Arrays
) -> None:
    q, k, v = qkv
    with pytest.raises(ShapeError, match=r"k is \[2, 33, 16\], v is \[2, 32, 16\]"):
        harness.attention(q, k, v[:, :-1], H=H, Hkv=HKV)
    with pytest.raises(ShapeError, match=r"q is \[2\], k is \[1\]; the batch sizes"):
        harness.attention(q, k[:1], v[:1], H=H, Hkv=HKV)
    with pytest.raises(ShapeError, match="multiple of H"):
        harness.attention(q, k, v, H=5)
    with pytest.raises(ShapeError, match=r"32/H=4 = 8, k .* 16/Hkv=4 = 4"):
        harness.attention(q, k, v, H=4)
    with pytest.raises(ShapeError, match=r"q has the shape \[19, 32\]"):
        harness.attention(q[0], k, v, H=H, Hkv=HKV)
    with pytest.raises(CaseError, match="k has the type int32"):
        harness.attention(q, k.astype(np.int32), v, H=H, Hkv=HKV)
    spoilt = v.copy()
    spoilt[1, 2, 3] = np.nan
    with pytest.raises(CaseError, match=r"v\[1, 2, 3\] is nan"):
        harness.attention(q, k, spoilt, H=H, Hkv=HKV)
    with pytest.raises(CaseError, match="beyond float32"):
        harness.attention(q.astype(np.float64) * 1e300, k, v, H=H, Hkv=HKV)
    with pytest.raises(ShapeError, match=r"bias has the shape \[7\]"):
        harness.attention(q, k, v, H=H, Hkv=HKV, bias=np.zeros(7))


def test_what_the_library_cannot_do_is_refused_by_name(harness: Harness, qkv: Arrays) -> None:
    def refused(word: str, **options: Any) -> None:
        with pytest.raises(Unsupported, match=word):
            harness.attention(*qkv, H=H, Hkv=HKV, **options)

    refused("window", window=(4, 0))
    refused("softcap", softcap=20.0)
    refused("bias", bias=np.zeros((TQ, TK), np.float32))
    wide = np.ones((1, 2, 257), np.float32)
    with pytest.raises(Unsupported, match=r"257.*256"):
        harness.attention(wide, wide, wide, H=1)


@pytest.mark.slow
def test_hundreds_of_calls_fit_on_one_page(harness: Harness) -> None:
    launched = harness.launched
    rng = np.random.default_rng(1)
    for n in range(200):
        T = 1 + n % 23
        q = rng.standard_normal((1, T, 16), np.float32)
        got = harness.attention(q, q, q, H=2)["o"]
        want = attention(*(q.reshape(1, T, 2, 8),) * 3)["o"].reshape(1, T, 16)
        near(got, want)
    assert harness.launched is launched


def test_threads_may_share_a_harness(harness: Harness, qkv: Arrays) -> None:
    results: dict[int, NDArray[Any]] = {}

    def call(n: int) -> None:
        results[n] = harness.attention(*qkv, H=H, Hkv=HKV, scale=n / 10)["o"]

    threads = [threading.Thread(target=call, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, got in results.items():
        near(got, truth(qkv, scale=n / 10)["o"])
    assert len(results) == 4


def test_two_harnesses_live_side_by_side_inside_a_running_event_loop(qkv: Arrays) -> None:
    async def both() -> None:
        with Harness() as one, Harness(launch="process") as other:
            assert one.launched.pid != other.launched.pid
            first = one.attention(*qkv, H=H, Hkv=HKV)["o"]
            second = other.attention(*qkv, H=H, Hkv=HKV)["o"]
            np.testing.assert_array_equal(first, second)
            assert one.run("forward:T=16,D=8").status == "pass"
            assert other.run("forward:T=16,D=8").status == "pass"

    asyncio.run(both())
