"""How far two runs of a case are apart."""

from __future__ import annotations

import numpy as np
import pytest

from server.cases import Case
from server.compare import AT_ONCE, differences, same_work


def arrays(case: Case, value: float = 1.0) -> dict[str, np.ndarray]:
    B, T, H, D = case.B, case.Tq, case.H, case.D
    shape = (B, H, T, D) if case.layout == "bhtd" else (B, T, H, D)
    kind = np.float16 if case.dtype == "f16" else np.float32
    return {
        "o": np.full(shape, value, kind),
        "lse": np.full((B, H, T), value, np.float32),
    }


def test_equal_bits_are_no_difference() -> None:
    case = Case.parse("forward:T=6,H=2,D=4")
    found = differences(case, arrays(case), arrays(case))
    assert list(found) == ["o", "lse"]
    assert all(one.bit_equal and one.index is None and one.max_abs == 0 for one in found.values())
    assert found["o"].total == 48


@pytest.mark.parametrize("layout", ["bthd", "bhtd"])
def test_the_element_furthest_off_is_named_whatever_the_layout(layout: str) -> None:
    case = Case.parse(f"forward:T=6,H=2,D=4,layout={layout}")
    a, b = arrays(case), arrays(case)
    near, far = ((0, 1, 0, 2), (0, 4, 1, 3)) if layout == "bthd" else ((0, 0, 1, 2), (0, 1, 4, 3))
    b["o"][near] += np.spacing(np.float32(1))
    b["o"][far] += 3 * np.spacing(np.float32(1))
    one = differences(case, a, b)["o"]
    assert (one.differ, one.max_ulp, one.index) == (2, 3.0, (0, 4, 1, 3))
    assert one.max_abs == 3 * float(np.spacing(np.float32(1)))
    assert (one.a, one.b) == (1.0, float(b["o"][far]))


def test_nan_and_infinity_in_one_alone_are_counted_apart() -> None:
    case = Case.parse("forward:T=6,H=2,D=4")
    a, b = arrays(case), arrays(case)
    a["o"][0, 0, 0, 0] = b["o"][0, 0, 0, 0] = np.nan
    a["o"][0, 1, 0, 0] = np.nan
    b["o"][0, 2, 0, 0] = np.inf
    b["o"][0, 3, 0, 0] = 1.5
    one = differences(case, a, b)["o"]
    assert (one.differ, one.apart, one.max_abs, one.index) == (3, 2, 0.5, (0, 3, 0, 0))
    assert one.to_dict()["index"] == [0, 3, 0, 0]


def test_two_ways_to_say_that_a_row_sees_no_key_are_one() -> None:
    case = Case.parse("forward:Tq=6,Tk=3,H=2,D=4")
    a, b = arrays(case), arrays(case)
    a["lse"][0, 0, 0], b["lse"][0, 0, 0] = -np.inf, -1e30
    assert differences(case, a, b)["lse"].bit_equal


def test_halves_are_counted_in_their_own_steps_and_zeros_by_their_bits() -> None:
    case = Case.parse("forward:T=6,H=2,D=4,dtype=f16")
    a, b = arrays(case), arrays(case)
    b["o"][0, 0, 0, 0] += np.float16(2**-10)
    a["o"][0, 1, 0, 0], b["o"][0, 1, 0, 0] = 0.0, -0.0
    one = differences(case, a, b)["o"]
    assert (one.differ, one.max_ulp, one.max_abs) == (2, 1.0, 2**-10)


def test_large_outputs_are_compared_piece_by_piece() -> None:
    case = Case.parse("forward:T=4200,H=2,D=128")
    assert AT_ONCE < 4200 * 2 * 128
    a, b = arrays(case), arrays(case)
    b["o"][0, 4199, 1, 127] = 2.0
    b["o"][0, 0, 0, 1] = 1.5
    one = differences(case, a, b)["o"]
    assert (one.differ, one.max_abs, one.index) == (2, 1.0, (0, 4199, 1, 127))


def test_only_the_kernel_may_differ() -> None:
    case = Case.parse("forward:T=6,H=2,D=4")
    assert same_work(case, case.replace(kernel="baseline")) == ""
    assert "only the kernel" in same_work(case, case.replace(seed=1))
