"""ULP distances: counted along the numbers of the type, whatever lies between."""

import numpy as np
import pytest

from server.ulp import Histogram, ulp_distance


def distance(actual, expected, dtype=np.float32):
    found = ulp_distance(np.array([actual], dtype), np.array([expected], np.float64))
    return float(found[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_next_number_is_one_away_and_the_same_none(dtype):
    for value in (1.0, -3.25, 1e-6, 60000.0):
        x = dtype(value)
        assert distance(x, float(x), dtype) == 0
        assert distance(np.nextafter(x, dtype(np.inf)), float(x), dtype) == 1
        assert distance(np.nextafter(x, dtype(-np.inf)), float(x), dtype) == 1


def test_a_truth_between_two_numbers_counts_as_the_nearer_one():
    assert distance(1.0, 1 + 2.0**-25) == 0
    assert distance(1.0, 1 + 0.9 * 2.0**-23) == 1


def test_distances_go_through_zero_and_both_zeros_are_one_number():
    assert distance(-0.0, 0.0) == 0
    tiny = float(np.float32(1e-45))
    assert distance(-tiny, 3 * tiny) == 4
    assert distance(-1.0, 1.0) == 2 * 0x3F800000


def test_what_is_no_number_has_no_distance_and_infinity_is_infinitely_far():
    assert np.isnan(distance(np.nan, 1.0))
    assert distance(np.inf, 1.0) == np.inf
    assert distance(-np.inf, 1.0) == np.inf


def test_a_truth_beyond_the_type_rounds_to_infinity():
    assert distance(np.inf, 7e4, np.float16) == 0
    assert distance(65504.0, 7e4, np.float16) == 1


def test_a_row_without_keys_may_store_any_very_negative_number():
    assert distance(-np.inf, -np.inf) == 0
    assert distance(-1e30, -np.inf) == 0
    assert distance(-5.0, -np.inf) == np.inf


def test_the_histogram_counts_each_element_once_in_its_power_of_two():
    histogram = Histogram()
    steps = [0, 0, 1, 2, 3, 4, 7, 8, 2.0**32, np.inf, np.nan, np.nan]
    histogram.add(np.array(steps, np.float64))
    found = histogram.to_dict()
    assert (found["zero"], found["inf"], found["nan"]) == (2, 1, 2)
    assert found["buckets"][:4] == [1, 2, 2, 1]
    assert found["buckets"][32] == 1
    assert len(found["buckets"]) == 33
