"""Each check by itself: what is right passes, each broken thing fails and is told apart."""

from __future__ import annotations

import numpy as np
import pytest

from server import poison, verdict
from server.outputs import OutputSpec
from server.patterns import Geometry
from server.verdict import Output, bounded, compare, ratios

POISON = (0x7FC17E05, 0xFFC1FE05)
WANT = [
    OutputSpec("o", "f32", (2, 3)),
    OutputSpec("o.repeat", "f32", (2, 3)),
    OutputSpec("o.guards", "u32", (2, 2, 64)),
]


def tensors():
    o = np.arange(6, dtype=np.float32)
    guards = np.repeat(np.array(POISON, np.uint32), 128)
    return {"o": o, "o.repeat": o.copy(), "o.guards": guards}


def somewhere(name, marked):
    return f"{name}[{', '.join(map(str, np.flatnonzero(marked)))}]"


# --- structure -----------------------------------------------------------------------------------


def test_flat_and_shaped_tensors_pass_the_structure_check():
    given = tensors()
    assert verdict.structure(WANT, given) is None
    given["o"] = given["o"].reshape(2, 3)
    assert verdict.structure(WANT, given) is None


@pytest.mark.parametrize("name", ["o", "o.repeat", "o.guards"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: None, "was not uploaded"),
        (lambda a: a[:-1], "expected"),
        (lambda a: np.concatenate([a, a[:1]]), "expected"),
        (lambda a: a.reshape(-1, 2), "expected"),
        (lambda a: a.astype(np.float64), "float64"),
        (lambda a: a.view(np.float16)[::2], "float16"),
        (lambda a: a.view(np.int32), "int32"),
    ],
)
def test_a_missing_misshapen_or_mistyped_tensor_is_named(name, change, words):
    given = tensors()
    given[name] = change(given[name])
    if given[name] is None:
        del given[name]
    failure = verdict.structure(WANT, given)
    assert failure.check == "structure"
    assert failure.output == "o"
    assert name in failure.message
    assert words in failure.message


# --- guards --------------------------------------------------------------------------------------


def test_untouched_guards_pass():
    assert verdict.guards(["o"], tensors(), POISON) is None


@pytest.mark.parametrize(
    ("word", "words"),
    [
        (0, "in front of the output: 1 of 64 guard words changed in pass 1, the first at word 0"),
        (63, "in front of the output: 1 of 64 guard words changed in pass 1, the first at word 63"),
        (64, "behind the output: 1 of 64 guard words changed in pass 1, the first at word 0"),
        (191, "in front of the output: 1 of 64 guard words changed in pass 2"),
        (255, "behind the output: 1 of 64 guard words changed in pass 2"),
    ],
)
def test_one_changed_guard_word_fails_on_its_side_and_pass(word, words):
    given = tensors()
    given["o.guards"][word] = np.float32(1.5).view(np.uint32)
    failure = verdict.guards(["o"], given, POISON)
    assert words in failure.message
    assert "0x3fc00000 = 1.5" in failure.message


@pytest.mark.parametrize("size", [5, 6])
def test_the_guard_behind_f16_begins_with_the_half_after_the_last_element(size):
    halves = np.concatenate([np.repeat(np.array([word], np.uint32), 65) for word in POISON])
    halves = halves.view(np.uint16).reshape(2, 130)[:, size % 2 :][:, :128]  # behind the data
    front = np.repeat(np.array(POISON, np.uint32), 64).view(np.uint16).reshape(2, 128)
    guards = np.ascontiguousarray(np.stack([front, halves], axis=1))
    given = {"o": np.zeros(size, np.float16), "o.guards": guards.view(np.uint32).ravel()}
    assert verdict.guards(["o"], given, POISON) is None
    given["o.guards"].view(np.uint16)[128] = 0x3C00  # the half next to the last element
    failure = verdict.guards(["o"], given, POISON)
    assert "behind the output: 1 of 64 guard words changed in pass 1, the first" in failure.message


def test_the_poison_of_the_other_pass_is_no_intact_guard():
    given = tensors()
    given["o.guards"] = given["o.guards"][::-1].copy()
    assert verdict.guards(["o"], given, POISON) is not None


# --- written -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_one_unwritten_element_fails_in_the_pass_in_which_it_is(number, dtype):
    passes = [np.arange(6, dtype=dtype), np.arange(6, dtype=dtype)]
    fill = poison.finite_words(POISON[1]) if number else np.full(6, POISON[0], np.uint32)
    passes[number][4] = fill.view(dtype)[4]
    failure = verdict.written({"o": tuple(passes)}, somewhere, POISON)
    assert failure.check == "written"
    assert f"1 of 6 (17 %) elements were never written in pass {number + 1}" in failure.message
    assert failure.message.endswith("o[4]")


def test_written_elements_pass_even_if_they_are_nan():
    a = np.arange(6, dtype=np.float32)
    a[2] = np.nan
    assert verdict.written({"o": (a, a)}, somewhere, POISON) is None


def test_a_result_that_happens_to_be_the_number_of_the_second_fill_is_written():
    a = poison.finite_words(POISON[1], 3).view(np.float16).copy()
    assert verdict.written({"o": (a, a.copy())}, somewhere, POISON) is None


# --- repeated ------------------------------------------------------------------------------------


def test_equal_bits_pass_and_one_changed_bit_fails():
    a = np.arange(6, dtype=np.float32)
    b = a.copy()
    assert verdict.repeated({"o": (a, b)}, somewhere) is None
    b.view(np.uint32)[3] ^= 1
    failure = verdict.repeated({"o": (a, b)}, somewhere)
    assert failure.check == "repeated"
    assert "1 of 6 (17 %) elements changed" in failure.message
    assert "The first: 3, then 3.00000024" in failure.message


def test_equal_nan_bits_are_equal_and_signed_zeros_differ():
    a = np.array([np.nan, 0.0], np.float16)
    assert verdict.repeated({"o": (a, a.copy())}, somewhere) is None
    assert verdict.repeated({"o": (a, np.array([np.nan, -0.0], np.float16))}, somewhere)


# --- finite --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [(np.nan, "(1 NaN, 0 inf)"), (np.inf, "(0 NaN, 1 inf)"), (-np.inf, "(0 NaN, 1 inf)")],
)
def test_nan_and_infinities_are_counted(value, words):
    a = np.arange(6, dtype=np.float32)
    assert verdict.finite("o", a, None, somewhere) is None
    a[5] = value
    failure = verdict.finite("o", a, None, somewhere)
    assert words in failure.message
    assert failure.message.endswith("o[5]")


def test_minus_infinity_passes_only_in_rows_without_keys():
    lse = np.array([-np.inf, 1, -np.inf], np.float32)
    assert verdict.finite("lse", lse, np.array([True, False, True]), somewhere) is None
    failure = verdict.finite("lse", lse, np.array([True, False, False]), somewhere)
    assert failure.message.endswith("lse[2]")
    for value in (np.nan, np.inf):
        assert verdict.finite("lse", np.array([value]), np.array([True]), somewhere)


# --- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actual", "expected", "allowed", "ratio"),
    [
        (1.5, 1.0, 1.0, 0.5),
        (0.5, 1.0, 0.5, 1.0),
        (3.0, 1.0, 1.0, 2.0),
        (0.0, 0.0, 0.0, 0.0),
        (-0.0, 0.0, 0.0, 0.0),
        (1e-40, 0.0, 0.0, np.inf),
        (np.nan, 1.0, 1.0, np.inf),
        (np.inf, 1.0, 1.0, np.inf),
        (-np.inf, 1.0, 1.0, np.inf),
        (1.0, np.nan, 1.0, np.inf),
        (1.5, 1.0, np.nan, np.inf),
        (1.5, 1.0, np.inf, np.inf),
        (1.0, 1.0, np.inf, np.inf),
        (1.0, np.inf, 1.0, np.inf),
        (-np.inf, -np.inf, 1.0, 0.0),
        (-3e38, -np.inf, 1.0, 0.0),
        (-1e30, -np.inf, 1.0, 0.0),
        (-9e29, -np.inf, 1.0, np.inf),
        (0.0, -np.inf, 1.0, np.inf),
        (np.nan, -np.inf, 1.0, np.inf),
        (np.inf, -np.inf, 1.0, np.inf),
    ],
)
def test_the_ratio_of_one_element(actual, expected, allowed, ratio):
    given = (np.array([x]) for x in (actual, expected, allowed))
    assert ratios(*given)[0] == ratio


def output(actual, expected=None, allowed=1e-3):
    actual = np.asarray(actual, np.float32)
    expected = np.zeros(actual.shape) if expected is None else np.asarray(expected, float)
    return Output("o", ("b", "i", "h", "d"), actual, expected, np.full(actual.shape, allowed))


def test_the_worst_element_is_named_with_its_tile():
    actual = np.zeros((2, 40, 3, 8))
    actual[1, 37, 2, 5] = 0.004
    actual[0, 0, 0, 0] = 0.0005
    found = compare(output(actual), {"i": 16, "j": 8})
    assert found.worst.index == {"b": 1, "i": 37, "h": 2, "d": 5}
    assert found.worst.tile == {"i": 2}
    assert found.worst_ratio == pytest.approx(4)
    assert (found.wrong, found.total, found.nan, found.inf) == (1, 1920, 0, 0)
    assert compare(output(actual)).worst.tile is None


def test_nan_is_the_worst_that_there_is():
    actual = np.zeros((1, 2, 1, 2))
    actual[0, 0, 0, 0], actual[0, 1, 0, 1] = 7.0, np.nan
    found = compare(output(actual))
    assert found.worst_ratio == np.inf
    assert np.isnan(found.worst.actual)
    assert (found.wrong, found.nan, found.inf) == (2, 1, 0)


def test_every_element_beyond_its_bound_counts_however_little():
    actual = np.array([1e-3, 1.01e-3, -1.2e-3, 0.9e-3]).reshape(1, 2, 1, 2)
    assert compare(output(actual, allowed=1.001e-3)).wrong == 2


def test_infinity_where_the_truth_is_minus_infinity_is_not_counted():
    lse = Output(
        "lse", ("b", "h", "i"),
        np.array([[[-np.inf, np.inf, -np.inf]]], np.float32),
        np.array([[[-np.inf, -np.inf, 0.0]]]),
        np.ones((1, 1, 3)),
    )  # fmt: skip
    found = compare(lse)
    assert (found.wrong, found.inf) == (2, 2)


def test_outputs_within_their_bounds_are_no_failure():
    assert bounded([compare(output(np.full((1, 2, 1, 2), 1e-3 - 1e-9)))], Geometry()) is None


def test_a_failure_names_what_is_wrong_where_and_what_is_right():
    bad = np.zeros((1, 40, 2, 4))
    bad[:, 16:] = 0.5
    tile = {"i": 16, "j": 16}
    zeros = np.zeros((1, 2, 40))
    right = compare(Output("lse", ("b", "h", "i"), zeros, zeros, np.ones((1, 2, 40))))
    failure = bounded([compare(output(bad), tile), right], Geometry(tile))
    lines = failure.message.splitlines()
    assert lines[0] == "o: 192 of 320 (60 %) elements are beyond their bound; 0 NaN, 0 inf."
    assert lines[1].strip() == (
        "worst (b=0, i=16, h=0, d=0) in query tile 1, row 0 of it: actual 0.5, expected 0, "
        "allowed ±0.001 (500 times that)"
    )
    assert "the first query tile is right, the later ones are not" in lines[2]
    assert lines[3] == "lse: every element is within its bound."
    assert failure.output == "o"


def test_sampled_outputs_name_true_indices():
    rows = np.array([0, 5, 900])
    sampled = Output(
        "o", ("b", "i", "h", "d"), np.array([0, 0, 1.0]).reshape(1, 3, 1, 1),
        np.zeros((1, 3, 1, 1)), np.ones((1, 3, 1, 1)) / 2, {"i": rows},
    )  # fmt: skip
    assert compare(sampled, {"i": 16}).worst.index["i"] == 900
    assert compare(sampled, {"i": 16}).worst.tile == {"i": 56}
    assert "i=900" in bounded([compare(sampled)], Geometry()).message
