"""The reference against values that others made, and the comparer against broken ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from server.golden import GoldenCase, check
from server.golden_files import read_set
from server.reference import attention
from server.tolerance import FLUSHED

FOLDER = Path(__file__).parent.parent / "data" / "golden"
CASES = {
    str(case): case
    for name in ("torch", "onnx", "ort")
    for case in read_set(FOLDER / name)
    if isinstance(case, GoldenCase)
}


def compare(golden, outputs):
    """What is wrong, a sentence for each output."""
    checks = check(golden, outputs)
    return [f"{name}: {one.problem}" for name, one in checks.items() if one.problem]


def reference(case):
    p = case.problem
    return attention(p.q, p.k, p.v, **case.options)


def case(name):
    return CASES[f"torch/{name}"]


@pytest.mark.parametrize("name", CASES)
def test_the_reference_agrees(name):
    golden = CASES[name]
    got = reference(golden)
    assert compare(golden, got) == []
    wanted = {"o", "lse", "attn"} | ({"dq", "dk", "dv"} if name.startswith("torch") else set())
    assert wanted <= golden.expected.keys() & got.keys(), "nothing may go unchecked"


def test_every_feature_is_met_by_some_case():
    needs = set().union(*(c.needs for c in CASES.values()))
    assert needs == {
        "non_causal", "tq_ne_tk", "align_tl", "gqa", "window", "softcap", "bias", "custom_scale",
        "empty_rows", "dv_ne_dk", "f16", "bf16", "key_lengths",
    }  # fmt: skip


def test_a_case_says_what_an_implementation_must_be_able_to_do():
    assert case("gqa_H9_kv3_T20_hd5").needs == {"gqa"}
    assert {"tq_ne_tk"} <= case("cross_Tq77_Tk1").needs


def test_native_parameters_are_used_where_they_say_all():
    assert CASES["ort/lit_gqa_7_T3_past1"].problem.bias is None
    assert CASES["ort/lit_gqa_7_T3_past1"].align == "br"
    assert CASES["onnx/test_attention_3d_local_window"].problem.window == (2, -1)
    folded = CASES["onnx/test_attention_4d_causal_nonpad_batch_prefill"].problem
    assert folded.bias is not None
    assert not folded.causal


def test_outputs_may_come_with_merged_heads():
    golden = case("gqa_H9_kv3_T20_hd5")
    got = reference(golden)
    merged = {n: got[n].reshape(2, 20, -1) for n in ("o", "dq", "dk", "dv")}
    assert compare(golden, merged) == []


def test_one_wrong_element_is_named():
    golden = case("hd002_T37_causal")
    o = reference(golden)["o"]
    o[0, 5, 1, 1] += 1e-3
    (line,) = compare(golden, {"o": o})
    assert line.startswith("o: 1 of 148 off; worst at (0, 5, 1, 1)")


def test_wrong_elements_are_counted():
    golden = case("br_Tq70_Tk5_emptyrows")
    right = reference(golden)
    assert {one.bad for one in check(golden, right).values()} == {0}
    off, nan, empty = (right["lse"].copy() for _ in range(3))
    off.flat[[-1, -2, -4]] += 1
    nan.flat[[3, 4]] = np.nan
    empty[np.isneginf(empty)] = 0
    wrong = {"off": off, "nan": nan, "empty": empty, "shape": off[:, :, 1:]}
    bad = {why: check(golden, {"lse": lse})["lse"].bad for why, lse in wrong.items()}
    rows = int(np.isneginf(right["lse"]).sum())
    assert bad == {"off": 3, "nan": 2, "empty": rows, "shape": golden.expected["lse"].size}


def test_the_tolerance_is_the_limit():
    golden = case("hd002_T37_causal")
    for name, atol in golden.tolerance.items():
        if name in golden.expected:
            near, far = (golden.expected[name] + f * atol for f in (0.9, 1.1))
            assert compare(golden, {name: near}) == []
            assert len(compare(golden, {name: far})) == 1


@pytest.mark.parametrize(("value", "words"), [(np.nan, "1 NaN"), (np.inf, "1 infinite")])
@pytest.mark.parametrize("name", ["o", "lse", "attn", "dq", "dk", "dv"])
def test_nan_and_infinity_never_pass(name, value, words):
    golden = case("hd002_T37_causal")
    array = reference(golden)[name]
    array.flat[3] = value
    assert compare(golden, {name: array}) == [f"{name}: {words}"]


def test_a_wrong_shape_is_named():
    golden = case("hd002_T37_causal")
    lines = compare(golden, {"lse": np.zeros((1, 37, 2)), "o": np.zeros((1, 36, 4))})
    assert lines == [
        "lse: shape (1, 37, 2), expected (1, 2, 37)",
        "o: shape (1, 36, 4), expected (1, 37, 2, 2)",
    ]


def test_rows_without_keys_need_minus_infinity_or_nearly_so():
    golden = case("br_Tq70_Tk5_emptyrows")
    lse = reference(golden)["lse"]
    assert np.isneginf(lse).any()
    assert compare(golden, {"lse": np.where(np.isneginf(lse), -3e38, lse)}) == []
    (line,) = compare(golden, {"lse": np.where(np.isneginf(lse), -1e4, lse)})
    assert "sees no key" in line
    (line,) = compare(golden, {"lse": np.full_like(lse, -np.inf)})
    assert "infinite" in line


def test_zeros_fail_every_case_whose_output_is_not_zero():
    for golden in CASES.values():
        # A result that is subnormal throughout may be flushed to zeros.
        if np.abs(golden.expected["o"]).max() > max(golden.tolerance["o"], FLUSHED):
            assert compare(golden, {"o": np.zeros_like(golden.expected["o"])}), golden.name
