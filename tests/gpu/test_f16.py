"""dtype=f16 number by number: what is read and stored, how it is rounded, what is too large."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from server.harness import Harness

H, D = 248, 256
EVERY_F16 = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
FINITE = EVERY_F16[np.isfinite(EVERY_F16)]  # H·D of them


def mixed(harness: Harness, *values: NDArray[np.float16]) -> NDArray[np.float16]:
    """o of one row that sees keys of equal scores: the mean of the values, H·D at once."""
    v = np.stack(values)[None]
    q = np.zeros((1, 1, H * D), np.float16)
    out = harness.attention(q, np.zeros_like(v), v, H=H, causal=False)["o"]
    assert out.dtype == np.float16
    return out.ravel()


def test_every_f16_number_is_read_and_stored_as_it_is(harness: Harness) -> None:
    assert FINITE.size == H * D
    np.testing.assert_array_equal(mixed(harness, FINITE), FINITE)


def test_a_result_is_stored_as_the_nearest_f16_number(harness: Harness) -> None:
    """Three quarters of the way from each number to its neighbour, in both directions."""
    for bits in (FINITE.view(np.uint16) + 1, FINITE.view(np.uint16) - 1):
        neighbours = bits.astype(np.uint16).view(np.float16)
        usable = np.isfinite(neighbours) & (np.sign(neighbours) == np.sign(FINITE))
        near = np.where(usable, neighbours, FINITE)
        np.testing.assert_array_equal(mixed(harness, FINITE, near, near, near), near)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_result_beyond_the_largest_f16_number_is_infinite(harness: Harness, sign: int) -> None:
    """Two query heads share the key, and dV is the sum of their dO; its neighbours stay right."""
    q, k = np.zeros((1, 1, 6), np.float16), np.zeros((1, 1, 3), np.float16)
    dO = np.array([[[1, sign * 65504, 2, 1, sign * 65504, 5]]], np.float16)
    out = harness.attention(q, k, k, H=2, Hkv=1, dO=dO)
    assert out["dv"].tolist() == [[[2, sign * np.inf, 7]]]
    assert harness.last_report is not None
    assert harness.last_report.status == "vacuous"
    assert "beyond the largest number of their type" in harness.last_report.message
