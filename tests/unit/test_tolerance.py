"""Bounds against a float32 FlashAttention-2: honest rounding fits, mistakes of 0.1 % do not."""

from __future__ import annotations

import numpy as np
import pytest
from fa2_float32 import fa2, through_f16

from server.attention_problem import Problem
from server.reference import Assembly, walk
from server.tolerance import (
    FLUSHED,
    H16,
    STEP16,
    U,
    block_bounds,
    rounded_f16,
    stored_f16,
    weight,
)
from server.verdict import ratios

F = np.float32


def arrays(Tq, Tk, H, Hkv, D, *, peaky=1.0, mean=0.0, seed=0):
    rng = np.random.default_rng(seed)
    q, do = rng.standard_normal((2, 1, Tq, H, D)).astype(F)
    k, v = rng.standard_normal((2, 1, Tk, Hkv, D)).astype(F)
    return {"q": F(peaky) * q + F(mean), "k": k + F(mean), "v": v, "do": do}


def worst(x, *, got=None, alike=False, wrong=None, **options):
    """Largest |error| / allowed of each output, of a float32 result that may be made wrong."""
    scale = float(F(x["q"].shape[3] ** -0.5))
    problem = Problem(
        x["q"], x["k"], x["v"],
        do=x.get("do"),
        bias=x.get("bias"),
        **({"scale": scale} | options),
    )  # fmt: skip
    if got is None:
        run = {"scale": scale} | options | (wrong or {})
        got = fa2(x["q"], x["k"], x["v"], do=x.get("do"), bias=x.get("bias"), **run)
    names = tuple(n for n in ("o", "lse", "attn", "dq", "dk", "dv", "dbias") if n in got)
    truth, allowed = Assembly(problem, names), Assembly(problem, names)
    for block in walk(problem):
        truth.add(block, block.outputs())
        allowed.add(block, block_bounds(block, few_weights=alike))
    return {
        n: float(ratios(got[n].reshape(t.shape), t, allowed.arrays[n]).max())
        for n, t in truth.arrays.items()
    }


RIGHT = {
    "T=48, D=8": (arrays(48, 48, 3, 3, 8), {}),
    "T=24, D=256": (arrays(24, 24, 1, 1, 256), {}),
    "T=128, D=32, full": (arrays(128, 128, 1, 1, 32), {"causal": False}),
    "grouped heads": (arrays(48, 48, 8, 2, 16), {}),
    "one key head": (arrays(48, 48, 8, 1, 16), {"causal": False}),
    "Tq < Tk": (arrays(20, 96, 2, 2, 16), {"offset": 76}),
    "rows without keys": (arrays(96, 20, 2, 2, 16), {"offset": -76}),
    "peaky": (arrays(96, 96, 2, 2, 16, peaky=8), {}),
    "very peaky": (arrays(96, 96, 2, 2, 16, peaky=64), {}),
    "offset": (arrays(96, 96, 2, 2, 16, mean=3), {}),
    "D=1": (arrays(48, 48, 4, 4, 1, peaky=8), {}),
    "softcap 0.5": (arrays(64, 64, 2, 2, 16, peaky=4), {"softcap": 0.5}),
    "softcap 20": (arrays(64, 64, 2, 2, 16, peaky=16), {"softcap": 20.0}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_float32_results_use_up_to_two_thirds_of_their_bounds(name):
    x, options = RIGHT[name]
    found = worst(x, **options)
    assert max(found.values()) < 0.67, found
    assert min(found.values()) > 1e-4, f"a bound that nothing comes near: {found}"


@pytest.mark.parametrize("shape", [(48, 48), (4, 48, 48), (1, 4, 48, 48), (1, 1, 1, 48)])
def test_right_results_with_a_bias_fit(shape):
    bias = 10 * np.random.default_rng(1).standard_normal(shape).astype(F)
    found = worst(arrays(48, 48, 4, 4, 16) | {"bias": bias})
    assert "dbias" in found
    assert max(found.values()) < 0.67, found


def test_a_long_sequence_fits():
    x = arrays(1024, 1024, 1, 1, 4)
    del x["do"]
    found = worst(x, wrong={"tile": 128})
    assert max(found.values()) < 0.5, found


@pytest.mark.parametrize("D", [1, 2, 3, 8])
def test_scores_of_one_sign_and_few_channels_fit(D):
    """All terms of a score add up, so S̄ = |S| and the first operations dominate the error."""
    rng = np.random.default_rng(D)
    big = np.sqrt(8000 / D**0.5)
    q, k = (big * (1 + rng.random((2, 1, 48, 2, D)) / 256)).astype(F)
    x = {"q": -q, "k": k, "v": rng.standard_normal(q.shape).astype(F)}
    found = worst(x, causal=False)
    assert max(found.values()) < 0.75, found


def test_sums_of_equal_terms_need_the_bound_that_grows_with_their_number():
    """Two weights only: one key in 16 has the score 1.6, the others 0."""
    x = arrays(8, 1024, 1, 1, 1)
    x["q"][:] = 1
    x["k"] = np.where(np.arange(1024) % 16 == 0, F(1.6), F(0)).reshape(1, 1024, 1, 1)
    serial = {"tile": 1}
    assert worst(x, causal=False, wrong=serial)["lse"] > 1.3
    found = worst(x, causal=False, wrong=serial, alike=True)
    assert max(found.values()) < 0.5, found


@pytest.mark.parametrize("spread", [0, 1e-5, 3e-5, 1e-4, 3e-4])
def test_weights_that_hardly_differ_have_the_bound_of_equal_terms(spread):
    """The bound of unlike terms fails these sums by up to 3.4 (spread 1e-5 and 3e-5)."""
    x = arrays(8, 2048, 1, 1, 4)
    x["v"] = np.full_like(x["v"], 1.1)
    found = worst(x, causal=False, scale=spread, wrong={"tile": 1})
    assert max(found.values()) < 0.67, found


def test_key_gradients_that_add_up_more_rows_than_keys_fit():
    """32 heads on one key head: without the excess of rows in W, dv would be at 2.7."""
    x = arrays(1024, 2, 32, 1, 4)
    x["do"] = np.abs(x["do"]) + F(1)
    found = worst(x, causal=False, wrong={"tile": 256})
    assert max(found.values()) < 0.67, found
    assert found["dv"] > 0.1


def test_flushed_weights_are_forgiven_and_nothing_larger():
    q = np.array([1.0], F).reshape(1, 1, 1, 1)
    k = np.array([0.0, -100.0], F).reshape(1, 2, 1, 1)
    x = {"q": q, "k": k, "v": np.array([1.0, 2.0], F).reshape(1, 2, 1, 1)}
    attn = np.array([1.0, 0.0]).reshape(1, 1, 1, 2)  # the second is e⁻¹⁰⁰ = 3.7e-44
    got = {"o": np.ones((1, 1, 1, 1)), "lse": np.zeros((1, 1, 1)), "attn": attn}
    assert max(worst(x, got=got, causal=False, scale=1.0).values()) <= 1
    x["k"][0, 1] = -80.0  # e⁻⁸⁰ = 1.8e-35 is a normal number
    found = worst(x, got=got, causal=False, scale=1.0)
    assert found["attn"] > 1
    assert found["o"] < 1


def two_keys(q, k, do):
    """A row and two keys, the second of which hardly counts; V = (−1, 1)."""
    x = {"q": [q], "k": [0.0, k], "v": [-1.0, 1.0], "do": [do]}
    return {name: np.array(values, F).reshape(1, -1, 1, 1) for name, values in x.items()}


def test_flushed_score_gradients_are_forgiven():
    """P = 1e-36 is a normal number, dS = 2e-39 is not, but dK = 50·dS = 1e-37 is one again."""
    x = two_keys(50.0, -1.658, 0.001)
    got = fa2(x["q"], x["k"], x["v"], do=x["do"], causal=False, scale=1.0)
    assert 5e-38 < abs(got["dk"][0, 1, 0, 0]) < 2e-37
    got["dk"][0, 1] = 0
    assert worst(x, got=got, causal=False, scale=1.0)["dk"] <= 1


def test_terms_that_are_flushed_before_they_are_scaled_are_forgiven():
    """dS·K = 1e-38 is flushed, and with it dQ = 100·1e-38."""
    x = two_keys(-8.29, 0.1, 0.05)
    got = fa2(x["q"], x["k"], x["v"], do=x["do"], causal=False, scale=100.0)
    assert 5e-37 < abs(got["dq"][0, 0, 0, 0]) < 2e-36
    got["dq"][:] = 0
    assert worst(x, got=got, causal=False, scale=100.0)["dq"] <= 1


def test_scores_whose_rounding_changes_a_weight_manifold_fit():
    """Scores near -1.3e7 are rounded to whole numbers: with κuW, attn would be at 4.4."""
    rng = np.random.default_rng(0)
    q, k = (1 + rng.random((2, 1, 33, 3, 32)) / 256).astype(F)
    x = {"q": F(-64) * q, "k": F(64) * k, "v": rng.standard_normal(q.shape).astype(F)}
    found = worst(x, causal=False, scale=100.0)
    assert max(found.values()) < 0.75, found


@pytest.mark.parametrize(("T", "D"), [(48, 8), (96, 32), (40, 256)])
def test_a_scale_that_is_a_thousandth_off_exceeds_every_bound_threefold(T, D):
    x = arrays(T, T, 2, 1, D)
    wrong = {"scale": float(F(D**-0.5)) * 1.001}
    found = worst(x, wrong=wrong)
    assert min(found.values()) > 3, found


def test_a_mask_that_is_one_off_exceeds_every_bound_hundredfold():
    x = arrays(96, 96, 2, 2, 16)
    for offset in (1, -1):
        found = worst(x, wrong={"offset": offset})
        assert min(found.values()) > 100, found


def test_elements_that_no_row_sees_must_be_exactly_zero():
    x = arrays(6, 9, 1, 1, 4)
    problem = Problem(x["q"], x["k"], x["v"], 0.5, do=x["do"])  # top-left: keys 6 to 8 unseen
    allowed = Assembly(problem, ("attn", "dk", "dv"))
    for block in walk(problem):
        allowed.add(block, block_bounds(block))
    assert (allowed.arrays["dk"][:, 6:] == 0).all()
    assert (allowed.arrays["dv"][:, 6:] == 0).all()
    assert (allowed.arrays["attn"][0, 0, 0, 1:] == 0).all()
    assert (allowed.arrays["dv"][:, :6] > 0).all()


def one_row(softcap=0.0):
    """One row, two keys, everything by hand: S = (0, ln 3), P = (1/4, 3/4), without softcap."""
    q, k = np.array([[[[2.0]]]]), np.array([0.0, np.log(3)]).reshape(1, 2, 1, 1)
    v, do = np.array([4.0, -8.0]).reshape(1, 2, 1, 1), np.array([[[[5.0]]]])
    (block,) = walk(Problem(q, k, v, 0.5, do=do, causal=False, softcap=softcap))
    return block


def test_the_bounds_are_the_formulas_of_the_module():
    block = one_row()
    w = 4 + 0.5 * 3 * np.log(3) + 0.5 * np.sqrt(2)  # √(D + 8) = 3, S̄ = ln 3, N = 2
    unit = 4 * U * w
    p = np.array([0.25, 0.75])
    a = 0.25 * 4 + 0.75 * 8
    g = p * (5 * np.array([4, 8]) + 5 * a)
    found = block_bounds(block)
    found["lse"] = np.expm1(found["lse"])  # κuW itself; the others have e^κuW − 1
    unit = np.expm1(unit)
    want = {
        "o": [[unit * a]],
        "lse": [unit],
        "attn": [unit * p],
        "dv": unit * 5 * p[:, None],
        "dq": [[0.5 * unit * g[1] * np.log(3)]],
        "dk": 0.5 * unit * 2 * g[:, None],
        "dbias": [unit * g],
    }
    assert found.keys() == want.keys()
    for name in want:
        np.testing.assert_allclose(found[name], want[name], rtol=1e-12, err_msg=name)


def test_a_softcap_narrows_scores_and_gradients_and_adds_the_error_of_tanh():
    block = one_row(softcap=2.0)
    t = np.tanh(np.log(3) / 2)  # = 1/2: S = (0, 1)
    slope = 1 - t * t
    w = 4 + 0.5 * 3 * (slope * np.log(3) + 2 * t) + 0.5 * np.sqrt(2)
    p = np.array([1, np.e]) / (1 + np.e)
    size = 5 * np.array([4, 8]) + 5 * (p @ [4, 8])
    error_of_t = 0.5 * 3 * slope * np.log(3) / 2 + 4
    dx = np.expm1(4 * U * w) * p[1] * size[1] * slope + 4 * U * p[1] * size[1] * 2 * t * error_of_t
    found = block_bounds(block)
    np.testing.assert_allclose(found["lse"], 4 * U * w)
    np.testing.assert_allclose(found["dk"][1], 0.5 * 2 * dx)
    np.testing.assert_allclose(found["dq"], [[0.5 * np.log(3) * dx]])


def test_kappa_scales_the_bounds_and_f16_adds_to_what_is_stored_in_it():
    block = one_row()
    f32, double = block_bounds(block), block_bounds(block, kappa=8)
    f16 = block_bounds(block, f16=True)
    np.testing.assert_allclose(double["o"], 2 * f32["o"], rtol=1e-5)
    np.testing.assert_allclose(double["lse"], 2 * f32["lse"])
    kept = rounded_f16(block.p)
    np.testing.assert_allclose(f16["o"] - f32["o"], kept @ np.abs(block.v))
    np.testing.assert_allclose(f16["dv"] - f32["dv"], kept.T * 5)
    np.testing.assert_array_equal(f16["lse"], f32["lse"])
    np.testing.assert_array_equal(f16["attn"], f32["attn"])
    np.testing.assert_allclose(
        stored_f16(np.array([0.1]), np.array([-2.0])), 0.1 + 2 * H16 + STEP16
    )
    assert stored_f16(np.array([0.0]), np.array([0.0])) == STEP16
    subnormal = np.array([3.7e-6])  # rounded to f16, it is off by more than h·|value|
    rounding = abs(float(subnormal.astype(np.float16)[0]) - subnormal[0])
    assert H16 * subnormal < rounding < stored_f16(np.zeros(1), subnormal)


def test_rounding_to_f16_costs_half_a_step_and_never_more_than_the_number():
    x = 2.0 ** np.random.default_rng(0).uniform(-40, 15, 20000)
    with np.errstate(all="ignore"):
        error = np.abs(x.astype(np.float16).astype(np.float64) - x)
    share = error / rounded_f16(x)
    assert 0.99 < share.max() <= 1
    assert share[x < 2.0**-25].min() == 1  # all of it


F16_CASES = {
    "normal": arrays(96, 96, 2, 2, 32),
    "grouped heads, odd D": arrays(48, 48, 4, 1, 7),
    "peaky": arrays(200, 200, 1, 1, 16, peaky=32),
    "very peaky": arrays(64, 64, 2, 2, 8, peaky=128),
}


def f16_ratios(x, *, factor=1.0, **options):
    """Largest |error| / allowed of outputs in f16, computed in float32 from inputs in f16."""
    x = {n: a.astype(np.float16) for n, a in x.items()}
    problem = Problem(x["q"], x["k"], x["v"], float(F(x["q"].shape[3] ** -0.5)), do=x["do"])
    names = ("o", "dq", "dk", "dv")
    truth, allowed = Assembly(problem, names), Assembly(problem, names)
    with np.errstate(all="ignore"):
        for block in walk(problem):
            truth.add(block, block.outputs())
            allowed.add(block, block_bounds(block, f16=True))
        wide = {n: a.astype(F) for n, a in x.items()}
        got = fa2(wide["q"], wide["k"], wide["v"], do=wide["do"], **options)
        return {
            n: float(ratios(got[n] * F(factor), t, stored_f16(allowed.arrays[n], t)).max())
            for n, t in truth.arrays.items()
        }


@pytest.mark.parametrize("name", F16_CASES)
def test_right_results_in_f16_fit(name):
    """Δ comes from the rounded o; what is kept in f16 between two products fits too."""
    found = f16_ratios(F16_CASES[name], stored=through_f16)
    assert max(found.values()) < 0.95, found
    found = f16_ratios(F16_CASES[name], stored=through_f16, kept=through_f16)
    assert max(found.values()) < 1, found


def test_results_in_f16_that_are_off_by_four_tenths_of_a_percent_do_not_fit():
    found = f16_ratios(F16_CASES["normal"], factor=1.004)
    assert min(found.values()) > 1, found


def test_sums_in_f16_do_not_fit(monkeypatch):
    monkeypatch.setattr("fa2_float32.F", np.float16)
    found = f16_ratios(F16_CASES["normal"])
    assert min(found["o"], found["dv"]) > 2, found


def test_the_weight_of_equal_terms_is_never_below_that_of_others():
    n = np.array([1.0, 16.0, 300.0, 4096.0])
    some, equal = (weight(np.zeros(4), n, 8, np.full(4, c)) for c in (False, True))
    assert (equal >= some).all()
    np.testing.assert_allclose(equal[-1], 4 + 4096 / 8)
    np.testing.assert_allclose(some, 4 + 0.5 * np.sqrt(n))
    assert 2 * np.finfo(F).tiny == FLUSHED
