"""A caller's arrays become a case and its inputs, and the outputs become arrays again."""

from __future__ import annotations

import numpy as np
import pytest

from server.arrays import to_inputs, to_results
from server.errors import CaseError, ShapeError

Q = np.zeros((2, 3, 8), np.float32)  # B=2, Tq=3, H·D=8
K = np.zeros((2, 5, 4), np.float32)  # Tk=5, Hkv·D=4


def test_shapes_become_the_fields_of_a_case() -> None:
    case, inputs = to_inputs(Q, K, K, H=4, Hkv=2, causal=False, scale=0.5)
    assert str(case) == "forward:B=2,Tq=3,Tk=5,H=4,Hkv=2,D=2,causal=0,scale=0.5"
    assert {name: x.shape for name, x in inputs.items()} == {
        "q": (2, 3, 4, 2),
        "k": (2, 5, 2, 2),
        "v": (2, 5, 2, 2),
    }


def test_a_gradient_makes_the_case_a_backward_and_its_outputs_have_joined_heads() -> None:
    case, inputs = to_inputs(Q, K, K, H=4, Hkv=2, dO=Q.astype(np.float16))
    assert str(case) == "backward:B=2,Tq=3,Tk=5,H=4,Hkv=2,D=2"
    assert (inputs["do"].shape, inputs["do"].dtype) == ((2, 3, 4, 2), np.float32)
    rows = np.arange(48, dtype=np.float32).reshape(2, 3, 4, 2)
    keys = np.arange(40, dtype=np.float32).reshape(2, 5, 2, 2)
    lse = np.zeros((2, 4, 3), np.float32)
    results = to_results(case, {"o": rows, "lse": lse, "dq": rows, "dk": keys, "dv": keys + 1})
    np.testing.assert_array_equal(results["dq"], rows.reshape(2, 3, 8))
    np.testing.assert_array_equal(results["dk"], keys.reshape(2, 5, 4))
    np.testing.assert_array_equal(results["dv"], keys.reshape(2, 5, 4) + 1)
    with pytest.raises(ShapeError, match=r"dO is \[2, 5, 4\], q is \[2, 3, 8\]"):
        to_inputs(Q, K, K, H=4, Hkv=2, dO=K)


def test_arrays_that_are_all_float16_make_a_case_in_f16() -> None:
    q, k = Q.astype(np.float16), K.astype(">f2")
    case, inputs = to_inputs(q, k, k, H=4, Hkv=2, dO=q, bias=np.zeros((3, 5)))
    assert str(case) == "backward:B=2,Tq=3,Tk=5,H=4,Hkv=2,D=2,bias=tt,dtype=f16"
    assert {x.dtype for x in inputs.values()} == {np.dtype(np.float16)}
    rows, keys = np.full((2, 3, 4, 2), 0.5, np.float16), np.full((2, 5, 2, 2), 2, np.float16)
    lse = np.zeros((2, 4, 3), np.float32)
    results = to_results(case, {"o": rows, "lse": lse, "dq": rows, "dk": keys, "dv": keys})
    kinds = {name: x.dtype.name for name, x in results.items()}
    assert kinds == {"lse": "float32"} | dict.fromkeys(("o", "dq", "dk", "dv"), "float16")


@pytest.mark.parametrize("wide", [0, 1, 2, 3])
def test_one_wider_array_makes_a_case_in_f32(wide: int) -> None:
    arrays = [Q.astype(np.float16), K.astype(np.float16), K.astype(np.float16)]
    arrays.append(arrays[0])
    arrays[wide] = arrays[wide].astype(np.float64)
    q, k, v, dO = arrays
    case, inputs = to_inputs(q, k, v, H=4, Hkv=2, dO=dO)
    assert case.dtype == "f32"
    assert {x.dtype for x in inputs.values()} == {np.dtype(np.float32)}


def test_a_bias_beyond_float16_is_refused_beside_float16_arrays() -> None:
    q, k = Q.astype(np.float16), K.astype(np.float16)
    with pytest.raises(CaseError, match=r"bias\[0, 0\] is 70000.0, beyond float16"):
        to_inputs(q, k, k, H=4, Hkv=2, bias=np.full((3, 5), 7e4, np.float32))


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((3, 5), "tt"), ((4, 3, 5), "htt"), ((2, 4, 3, 5), "bhtt"), ((2, 1, 1, 5), "b11t")],
)
def test_the_axes_of_a_bias_are_read_off_its_shape(shape: tuple[int, ...], kind: str) -> None:
    case, inputs = to_inputs(Q, K, K, H=4, Hkv=2, bias=np.zeros(shape))
    assert case.bias == kind
    assert (inputs["bias"].shape, inputs["bias"].dtype) == (shape, np.float32)


def test_a_bias_that_fits_nowhere_is_told_what_would_fit() -> None:
    with pytest.raises(ShapeError, match=r"\[5, 3\].*\[3, 5\], \[4, 3, 5\], \[2, 4, 3, 5\]"):
        to_inputs(Q, K, K, H=4, Hkv=2, bias=np.zeros((5, 3)))


@pytest.mark.parametrize("H", [0, -4, 2.0, True, "4", None])
def test_a_number_of_heads_is_a_positive_whole_number(H: object) -> None:
    with pytest.raises(CaseError, match="H="):
        to_inputs(Q, Q, Q, H=H)  # type: ignore[arg-type]


def test_empty_arrays_are_refused() -> None:
    with pytest.raises(ShapeError, match="at least one element"):
        to_inputs(Q[:, :0], K, K, H=4, Hkv=2)


def test_heads_must_divide_evenly_among_key_heads() -> None:
    with pytest.raises(CaseError, match="Hkv=3 does not divide H=4"):
        to_inputs(Q, np.zeros((2, 5, 6), np.float32), np.zeros((2, 5, 6), np.float32), H=4, Hkv=3)


@pytest.mark.parametrize("kind", ["c8", "i4", "?", "U1", "O"])
def test_types_that_are_no_floating_point_numbers_are_refused(kind: str) -> None:
    with pytest.raises(CaseError, match="v has the type"):
        to_inputs(Q, K, np.zeros(K.shape, kind), H=4, Hkv=2)


def test_an_empty_row_has_minus_infinity_and_heads_are_joined_again() -> None:
    case, _ = to_inputs(Q, K, K, H=4, Hkv=2)
    lse = np.full((2, 4, 3), 0.5, np.float32)
    lse[0, 0, 0] = -3.0e38
    o = np.arange(48, dtype=np.float32).reshape(2, 3, 4, 2)
    results = to_results(case, {"o": o, "lse": lse})
    assert results["lse"][0, 0, 0] == -np.inf
    assert results["lse"][1, 3, 2] == np.float32(0.5)
    np.testing.assert_array_equal(results["o"], o.reshape(2, 3, 8))


def test_a_bias_may_mask_with_minus_infinity_and_nothing_else_may_be_infinite() -> None:
    masked = np.where(np.tri(3, 5) > 0, 0.0, -np.inf)
    _, inputs = to_inputs(Q, K, K, H=4, Hkv=2, bias=masked)
    np.testing.assert_array_equal(inputs["bias"], masked.astype(np.float32))
    for name, value in (("bias", np.inf), ("bias", np.nan), ("k", -np.inf)):
        arrays = {"k": K.copy(), "bias": np.zeros((3, 5))}
        arrays[name].flat[0] = value
        with pytest.raises(CaseError, match=rf"{name}\[0.* is -?(inf|nan)"):
            to_inputs(Q, arrays["k"], K, H=4, Hkv=2, bias=arrays["bias"])
    with pytest.raises(CaseError, match="beyond float32"):
        to_inputs(Q, K, K, H=4, Hkv=2, bias=np.full((3, 5), -1e300))
