"""The float64 reference: cases worked by hand, finite differences, and its own consistency."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from server import attention_problem, reference
from server.attention_problem import Problem, rows_with_keys
from server.errors import CaseError, ShapeError
from server.reference import Assembly, attention, walk


def inputs(B=2, Tq=7, Tk=7, H=4, Hkv=2, D=3, seed=0, bias=None):
    rng = np.random.default_rng(seed)
    found = {
        "q": rng.standard_normal((B, Tq, H, D)),
        "k": rng.standard_normal((B, Tk, Hkv, D)),
        "v": rng.standard_normal((B, Tk, Hkv, D)),
        "do": rng.standard_normal((B, Tq, H, D)),
    }
    if bias is not None:
        found["bias"] = rng.standard_normal(bias)
    return found


def plain(q, k, v, bias, scale, softcap, seen):
    """The definition, one element at a time: another way of writing it, for small cases only."""
    B, Tq, H, D = q.shape
    Tk, group = k.shape[1], H // k.shape[2]
    o, lse, attn = np.zeros_like(q), np.full((B, H, Tq), -np.inf), np.zeros((B, H, Tq, Tk))
    for b in range(B):
        for h in range(H):
            for i in range(Tq):
                scores = {}
                for j in range(Tk):
                    s = scale * sum(q[b, i, h, d] * k[b, j, h // group, d] for d in range(D))
                    s = softcap * math.tanh(s / softcap) if softcap else s
                    s += 0.0 if bias is None else bias[b, h, i, j]
                    if seen(i, j) and s != -math.inf:
                        scores[j] = math.exp(s)
                total = sum(scores.values())
                for j, e in scores.items():
                    attn[b, h, i, j] = e / total
                    o[b, i, h] += e / total * v[b, j, h // group]
                if scores:
                    lse[b, h, i] = math.log(total)
    return {"o": o, "lse": lse, "attn": attn}


def masks(Tq, Tk):
    off = Tk - Tq
    return {
        "full": ({"causal": False}, lambda i, j: True),
        "causal br": ({}, lambda i, j: j <= i + off),
        "causal tl": ({"align": "tl"}, lambda i, j: j <= i),
        "window 2:0": ({"window": (2, 0)}, lambda i, j: i + off - 2 <= j <= i + off),
        "window 1:2 full": (
            {"window": (1, 2), "causal": False}, lambda i, j: i + off - 1 <= j <= i + off + 2),
        "window 0:-1 tl": (
            {"window": (0, -1), "causal": False, "align": "tl"}, lambda i, j: j >= i),
        "window -1:1 causal": ({"window": (-1, 1)}, lambda i, j: j <= i + off),
    }  # fmt: skip


@pytest.mark.parametrize(("Tq", "Tk"), [(5, 5), (3, 6), (6, 3)])
@pytest.mark.parametrize("mask", masks(1, 1))
def test_forward_agrees_with_the_definition_element_by_element(Tq, Tk, mask):
    options, seen = masks(Tq, Tk)[mask]
    x = inputs(Tq=Tq, Tk=Tk)
    got = attention(x["q"], x["k"], x["v"], scale=0.7, **options)
    want = plain(x["q"], x["k"], x["v"], None, 0.7, 0.0, seen)
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=0, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("shape", [(6, 5), (4, 6, 5), (2, 4, 6, 5), (2, 1, 1, 5), (1, 4, 6, 5)])
def test_softcap_comes_before_bias_and_bias_before_the_mask(shape):
    x = inputs(Tq=6, Tk=5, bias=shape)
    x["bias"].flat[::5] = -np.inf
    got = attention(
        x["q"], x["k"], x["v"], bias=x["bias"], softcap=1.5, scale=2.0, causal=False
    )  # fmt: skip
    full = np.broadcast_to(x["bias"], (2, 4, 6, 5))
    want = plain(x["q"], x["k"], x["v"], full, 2.0, 1.5, lambda i, j: True)
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=0, atol=1e-14, err_msg=name)


def test_two_keys_by_hand():
    q = np.array([1.0, 1.0]).reshape(1, 2, 1, 1)
    k = np.array([0.0, math.log(3)]).reshape(1, 2, 1, 1)
    v = np.array([4.0, 8.0]).reshape(1, 2, 1, 1)
    do = np.array([5.0, 1.0]).reshape(1, 2, 1, 1)
    got = attention(q, k, v, do=do, scale=1.0)
    # row 1: P = (1/4, 3/4), O = 1/4·4 + 3/4·8 = 7, L = log(1 + 3)
    np.testing.assert_allclose(got["o"].ravel(), [4, 7], rtol=1e-15)
    np.testing.assert_allclose(got["lse"].ravel(), [0, math.log(4)], rtol=1e-15)
    np.testing.assert_allclose(got["attn"][0, 0], [[1, 0], [0.25, 0.75]], rtol=1e-15)
    # dV = Pᵀ dO: 5·1 + 1/4, 3/4; dP − Δ = (4 − 7, 8 − 7), dS = P∘ that = (−3/4, 3/4)
    np.testing.assert_allclose(got["dv"].ravel(), [5.25, 0.75], rtol=1e-15)
    np.testing.assert_allclose(got["dq"].ravel(), [0, 0.75 * math.log(3)], atol=1e-15)
    np.testing.assert_allclose(got["dk"].ravel(), [-0.75, 0.75], atol=1e-15)


def test_equal_scores_give_the_mean_of_the_values_seen():
    x = inputs(Tq=5, Tk=5, H=2)
    got = attention(np.zeros_like(x["q"]), x["k"], x["v"])
    mean = np.cumsum(x["v"], axis=1) / np.arange(1, 6)[:, None, None]
    np.testing.assert_allclose(got["o"], mean, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(got["lse"], np.log(np.arange(1, 6)) + np.zeros((2, 2, 5)))


def test_rows_that_see_no_key_are_zero_and_get_no_gradient():
    x = inputs(Tq=6, Tk=2)
    got = attention(x["q"], x["k"], x["v"], do=x["do"])
    assert (got["o"][:, :4] == 0).all()
    assert (got["attn"][:, :, :4] == 0).all()
    assert (got["dq"][:, :4] == 0).all()
    assert np.isneginf(got["lse"][:, :, :4]).all()
    assert np.isfinite(got["lse"][:, :, 4:]).all()
    less = attention(x["q"][:, 4:], x["k"], x["v"], do=x["do"][:, 4:])
    for name in ("dk", "dv"):
        np.testing.assert_allclose(got[name], less[name], rtol=1e-14)


def test_query_heads_read_their_group_and_key_gradients_add_up_over_it():
    x = inputs(H=6, Hkv=2)
    got = attention(x["q"], x["k"], x["v"], do=x["do"])
    repeated = attention(
        x["q"], x["k"].repeat(3, axis=2), x["v"].repeat(3, axis=2), do=x["do"]
    )  # fmt: skip
    np.testing.assert_allclose(got["o"], repeated["o"], rtol=1e-14)
    for name in ("dk", "dv"):
        summed = repeated[name].reshape(2, 7, 2, 3, 3).sum(axis=3)
        np.testing.assert_allclose(got[name], summed, rtol=1e-12, atol=1e-13)


GRADIENT_CASES = {
    "plain": ({}, {}),
    "full": ({}, {"causal": False}),
    "rectangular": ({"Tq": 4, "Tk": 9}, {}),
    "top-left": ({"Tq": 9, "Tk": 4}, {"align": "tl"}),
    "empty rows": ({"Tq": 9, "Tk": 4}, {}),
    "window": ({}, {"window": (2, 1), "causal": False}),
    "softcap": ({}, {"softcap": 0.8, "scale": 1.7}),
    "bias tt": ({"bias": (7, 7)}, {}),
    "bias htt": ({"bias": (4, 7, 7)}, {"causal": False}),
    "bias bhtt": ({"bias": (2, 4, 7, 7)}, {"softcap": 1.1}),
    "bias b11t": ({"bias": (2, 1, 1, 7)}, {}),
}


@pytest.mark.parametrize("name", GRADIENT_CASES)
def test_gradients_agree_with_finite_differences_along_a_random_direction(name):
    shape, options = GRADIENT_CASES[name]
    x = inputs(**shape)
    do = x.pop("do")
    got = attention(**x, do=do, **options)
    rng = np.random.default_rng(1)
    for key in x:
        direction = rng.standard_normal(x[key].shape)

        def loss(step, key=key, direction=direction):
            moved = x | {key: x[key] + step * direction}
            return float((attention(**moved, **options)["o"] * do).sum())

        step = 1e-5
        slope = (loss(step) - loss(-step)) / (2 * step)
        found = float((got["d" + key] * direction).sum())
        assert found == pytest.approx(slope, rel=1e-7, abs=1e-8), key


def test_a_masked_bias_entry_gets_no_gradient():
    x = inputs(bias=(7, 7))
    x["bias"][3, :2] = -np.inf
    got = attention(**x)
    assert (got["dbias"][3, :2] == 0).all()
    assert np.isfinite(got["dbias"]).all()


def test_blocks_of_rows_change_nothing(monkeypatch):
    x = inputs(Tq=9, Tk=6, bias=(2, 1, 1, 6))
    whole = attention(**x, window=(3, -1))
    monkeypatch.setattr(reference, "BLOCK_ELEMENTS", 12)  # two rows a block
    monkeypatch.setattr(attention_problem, "BLOCK_ELEMENTS", 12)
    blocked = attention(**x, window=(3, -1))
    assert whole.keys() == blocked.keys()
    for name in whole:
        np.testing.assert_allclose(blocked[name], whole[name], rtol=1e-12, atol=1e-14)


def test_chosen_rows_and_keys_are_those_of_the_whole():
    x = inputs(Tq=9, Tk=8, bias=(4, 9, 8))
    whole = attention(**x)
    rows, keys = np.array([0, 3, 8]), np.array([1, 6, 7])
    some = attention(**x, rows=rows)
    for name, axis in (("o", 1), ("dq", 1), ("lse", 2), ("attn", 2)):
        np.testing.assert_array_equal(some[name], whole[name].take(rows, axis))
    assert "dk" not in some
    problem = Problem(x["q"], x["k"], x["v"], 3**-0.5, x["do"], x["bias"], offset=-1)
    part = Assembly(problem, ("dk", "dv", "dbias", "attn"), keys=keys)
    for block in walk(problem, keys=keys):
        part.add(block, block.outputs())
    for name, axis in (("dk", 1), ("dv", 1), ("attn", 3)):
        np.testing.assert_allclose(part.arrays[name], whole[name].take(keys, axis), rtol=1e-13)
    np.testing.assert_allclose(part.arrays["dbias"][0], whole["dbias"][:, :, keys], rtol=1e-13)


def test_dropping_the_last_key_is_what_it_says():
    x = inputs(Tq=5, Tk=7)
    problem = Problem(x["q"], x["k"], x["v"], 0.5, offset=2, drop_last_key=True)
    got = Assembly(problem, ("o", "lse"))
    for block in walk(problem):
        got.add(block, block.outputs())
    want = attention(x["q"], x["k"][:, :6], x["v"][:, :6], scale=0.5)
    for name in got.arrays:
        np.testing.assert_allclose(got.arrays[name], want[name], rtol=1e-14)


def test_values_may_have_another_head_size():
    x = inputs()
    v = np.concatenate([x["v"], 2 * x["v"]], axis=3)
    got = attention(x["q"], x["k"], v)["o"]
    assert got.shape == (2, 7, 4, 6)
    np.testing.assert_allclose(got[..., 3:], 2 * got[..., :3], rtol=1e-14)


def test_huge_scores_neither_overflow_nor_warn():
    x = inputs()
    with np.errstate(all="raise", under="ignore"):
        got = attention(1e4 * x["q"], x["k"], x["v"], do=x["do"])
    assert all(np.isfinite(a).all() for a in got.values())
    np.testing.assert_allclose(got["attn"].sum(axis=3), 1, rtol=1e-14)


def test_float16_and_float32_inputs_are_taken_exactly():
    x = {n: a.astype(np.float16) for n, a in inputs().items()}
    got = attention(**x)
    exact = attention(**{n: a.astype(np.float64) for n, a in x.items()})
    for name in got:
        np.testing.assert_array_equal(got[name], exact[name])


@pytest.mark.parametrize("bias", [None, (7, 7), (2, 1, 1, 7)])
def test_rows_with_keys_agrees_with_the_log_sum_exp(bias):
    x = inputs(Tq=7, Tk=7, bias=bias)
    if bias is not None:
        x["bias"][..., :3] = -np.inf
    problem = Problem(x["q"], x["k"], x["v"], 1.0, bias=x.get("bias"), offset=-2)
    lse = Assembly(problem, ("lse",))
    for block in walk(problem):
        lse.add(block, block.outputs())
    np.testing.assert_array_equal(rows_with_keys(problem), np.isfinite(lse.arrays["lse"]))
    assert not rows_with_keys(problem).all()


def test_arrays_that_disagree_are_refused_by_name():
    x = inputs()
    bad = {
        "heads must divide": {"k": x["k"][:, :, [0, 1, 1]], "v": x["v"][:, :, [0, 1, 1]]},
        "must match k": {"v": x["v"][:, :5]},
        "give .B, T, heads, D.": {"q": x["q"][0]},
        "as o": {"do": x["do"][:, :5]},
        "does not broadcast": {"bias": np.zeros((3, 7, 7))},
    }
    for message, change in bad.items():
        with pytest.raises(ShapeError, match=message):
            attention(**(x | change))
    with pytest.raises(CaseError, match="align='up'"):
        attention(**x, align="up")
    with pytest.raises(CaseError, match="softcap"):
        attention(**x, softcap=-1.0)


def test_the_scale_of_a_problem_is_used_as_it_is():
    x = inputs()
    problem = Problem(x["q"], x["k"], x["v"], 0.25)
    assert replace(problem, scale=0.5).scale == 0.5
    twice = attention(2 * x["q"], x["k"], x["v"], scale=0.25)
    np.testing.assert_allclose(
        twice["o"], attention(x["q"], x["k"], x["v"], scale=0.5)["o"], rtol=1e-13
    )
