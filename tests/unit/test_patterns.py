"""The sentence that says where wrong elements lie must be true of all of them, and telling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.patterns import Geometry, describe, find_claims

O_AXES, LSE_AXES = ("b", "i", "h", "d"), ("b", "h", "i")
ATTN_AXES, KEY_AXES = ("b", "h", "i", "j"), ("b", "j", "hkv", "d")
T, BR, BC = 44, 16, 8
GEOMETRY = Geometry({"i": BR, "j": BC}, np.arange(T), 0)


def where(shape, axes, choose, geometry=GEOMETRY, coords=None):
    return describe(choose(*np.indices(shape)), axes, coords or {}, geometry)


def of_o(choose):
    return where((2, T, 4, 8), O_AXES, choose)


SENTENCES = {
    "all in head h = 2, every element there": lambda b, i, h, d: h == 2,
    "all in odd heads h (1, 3), every element there": lambda b, i, h, d: h % 2 == 1,
    "all in even heads h (0, 2), every element there": lambda b, i, h, d: h % 2 == 0,
    "all in batch b = 1, every element there": lambda b, i, h, d: b == 1,
    "all with d ≥ 5, every element there": lambda b, i, h, d: d >= 5,
    "all in channel d = 7, every element there": lambda b, i, h, d: d == 7,
    "all with d mod 4 = 3, every element there": lambda b, i, h, d: d % 4 == 3,
    "all with i ≥ 21, every element there": lambda b, i, h, d: i >= 21,
    "all with i ≤ 4, every element there": lambda b, i, h, d: i <= 4,
    "all in rows other than i = 0, every element there": lambda b, i, h, d: i > 0,
    "all in the last row of each query tile, every element there": lambda b, i, h, d: (
        i % BR == BR - 1
    ),
    "all in the first row of each query tile, every element there": lambda b, i, h, d: i % BR == 0,
    "all in the last, partial query tile (i ≥ 32), every element there": lambda b, i, h, d: i >= 32,
    "all in the first query tile (i < 16), every element there": lambda b, i, h, d: i < 16,
    "all with i ≥ 16: the first query tile is right, the later ones are not, every element there": (
        lambda b, i, h, d: i >= 16
    ),
    "all in rows that see keys j ≥ 8: rows that see the first key tile only are right, "
    "every element there": lambda b, i, h, d: i >= 8,
    "all in the upper half of each query tile (i mod 16 ≥ 8), every element there": (
        lambda b, i, h, d: i % 16 >= 8
    ),
    "all in batch b = 1 and in head h = 3 and with d ≥ 4, every element there": (
        lambda b, i, h, d: (b == 1) & (h == 3) & (d >= 4)
    ),
    "only at b = 1, i = 5, h = 2, d = 7": lambda b, i, h, d: (
        (b == 1) & (i == 5) & (h == 2) & (d == 7)
    ),
    "everywhere": lambda b, i, h, d: b >= 0,
    "nowhere": lambda b, i, h, d: b > 5,
    "nearly everywhere (93 % of the elements)": lambda b, i, h, d: (
        (31 * i + 7 * h + d + b) % 14 > 0
    ),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_region_of_o_is_named(sentence):
    assert of_o(SENTENCES[sentence]) == sentence


def test_key_tiles_of_attn_and_of_key_gradients_are_named():
    text = (
        "all with j ≥ 8: the first key tile is right, the later ones are not, every element there"
    )
    assert where((1, 2, T, T), ATTN_AXES, lambda b, h, i, j: j >= 8) == text
    assert where((1, T, 2, 4), KEY_AXES, lambda b, j, n, d: j >= 8) == text
    text = "all in key head hkv = 1, every element there"
    assert where((1, T, 3, 4), KEY_AXES, lambda b, j, n, d: n == 1) == text


def test_later_tiles_are_called_wrong_only_if_each_of_them_is():
    text = where((1, 2, T, T), ATTN_AXES, lambda b, h, i, j: (j >= 8) & (j // 8 != 3))
    assert text.startswith("all with j ≥ 8: the first key tile is right, 78 % of the")


def test_the_diagonal_is_seen():
    def at(choose, diagonal=0):
        return where((1, 2, T, T), ATTN_AXES, choose, Geometry(diagonal=diagonal))

    above = "all above the diagonal (j > i), every element there"
    assert at(lambda b, h, i, j: j > i) == above
    below = "all on or below the diagonal (j ≤ i), every element there"
    assert at(lambda b, h, i, j: j <= i) == below
    assert at(lambda b, h, i, j: j == i) == "all on the diagonal j = i, every element there"
    past = "all on the diagonal j = i, 1 past it, every element there"
    assert at(lambda b, h, i, j: j == i + 1) == past
    text = "all on the diagonal j = i -2, every element there"
    assert at(lambda b, h, i, j: j == i - 2, diagonal=-2) == text
    text = "all in head h = 1 and above the diagonal (j > i), every element there"
    assert at(lambda b, h, i, j: (j > i) & (h == 1)) == text


def test_rows_that_see_no_key_are_called_that():
    geometry = Geometry(last_key=np.arange(T) - 10)
    text = where((1, T, 2, 4), O_AXES, lambda b, i, h, d: i < 10, geometry)
    assert text == "all in rows that see no key, every element there"


def test_gaps_in_a_region_are_counted():
    def choose(b, i, h, d):
        return (h == 1) & ((5 * i + d) % 10 > 0)

    text = of_o(choose)
    assert text.startswith("all in head h = 1, ")
    assert text.endswith("88 % of the elements there")


def test_scattered_elements_get_no_pattern():
    rng = np.random.default_rng(0)
    bad = rng.random((2, T, 4, 8)) < 0.02
    text = describe(bad, O_AXES, {}, GEOMETRY)
    assert text.startswith("scattered, without a simple pattern: in every batch, ")


def test_a_claim_that_covers_mostly_right_elements_is_not_made():
    rng = np.random.default_rng(0)
    bad = rng.random((1, 400, 1, 1)) < 0.3
    bad[0, 0] = False
    text = describe(bad, O_AXES, {}, Geometry())
    assert text.startswith("scattered")


def test_only_the_axis_that_tells_something_is_named():
    rows = np.random.default_rng(0).permutation(400)[:10]
    bad = np.zeros((1, 400, 4, 8), bool)
    bad[:, rows, 2] = True
    text = describe(bad, O_AXES, {}, Geometry())
    assert text == "all in head h = 2, 2.5 % of the elements there"


def test_an_interval_with_large_gaps_is_not_claimed():
    bad = np.zeros((1, 400, 1, 1), bool)
    bad[0, [3, 5, 80, 391]] = True
    assert describe(bad, O_AXES, {}, Geometry()).startswith("scattered")


def test_sampled_coordinates_are_the_true_ones():
    rows = np.array([0, 1, 15, 16, 8000, 9000])
    bad = np.zeros((1, 1, 6), bool)
    bad[..., 4:] = True
    text = describe(bad, LSE_AXES, {"i": rows}, Geometry({"i": 16}))
    assert "i ≥ 8000" in text
    bad = np.zeros((1, 1, 6), bool)
    bad[..., 5] = True
    assert describe(bad, LSE_AXES, {"i": rows}, Geometry()) == "only at b = 0, h = 0, i = 9000"


def test_nothing_needs_to_be_known_of_the_tiles():
    text = where((1, T, 1, 1), O_AXES, lambda b, i, h, d: i >= 16, Geometry())
    assert text == "all with i ≥ 16, every element there"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.1, 0.5, 0.9]))
def test_claims_are_true_of_every_wrong_element(seed, density):
    rng = np.random.default_rng(seed)
    shape, axes = ((2, T, 3, 6), O_AXES) if seed % 2 else ((2, 3, T, T), ATTN_AXES)
    bad = np.zeros(shape, bool)
    corner = tuple(slice(rng.integers(0, n), None) for n in shape)
    bad[corner] = rng.random(bad[corner].shape) < density
    if bad.any():
        for claim in find_claims(bad, axes, [np.arange(n) for n in shape], GEOMETRY):
            assert not (bad & ~claim.covers).any(), claim.text
            assert not np.all(claim.covers), claim.text
        assert describe(bad, axes, {}, GEOMETRY) != "nowhere"
