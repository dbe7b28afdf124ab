"""What outputs hold before each pass, and that a kernel which keeps some of it is caught."""

from __future__ import annotations

import numpy as np
import pytest
from fake_upload import POISON, results, uploads, verdict_on

from server import poison
from server.cases import Case
from server.outputs import outputs_of

NUMBERS = poison.finite_words(POISON[1], 3 * poison.PERIOD)


def test_poison_is_nan_in_both_types():
    assert all(map(poison.is_poison, POISON))
    assert all(map(poison.is_poison, poison.new_poison()))
    for word in (0x3F800000, 0x7F800000, 0x7FC00000, 0x7FC17C00, 0xFFC10001):
        assert not poison.is_poison(word), hex(word)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_second_fill_is_large_numbers_of_which_neighbours_differ_in_sign(dtype):
    values = NUMBERS.view(dtype)
    assert np.isfinite(values).all()
    assert np.abs(values).min() > {np.float32: 1e35, np.float16: 5e4}[dtype]
    pairs = np.sign(values).reshape(-1, 2)
    assert (pairs.sum(axis=1) == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("stride", [2, 3, 4, 16, 64, 100, 256, 8192])
def test_every_column_of_a_matrix_holds_both_signs(dtype, stride):
    negative = NUMBERS.view(dtype) < 0
    rows = negative[: negative.size // stride * stride].reshape(-1, stride)
    assert (abs(rows.mean(axis=0) - 0.5) < 4 / np.sqrt(len(rows))).all()


def test_the_second_fill_is_another_one_in_each_run():
    (_, one), (_, two) = poison.new_poison(), poison.new_poison()
    a, b = poison.finite_words(one, 1000), poison.finite_words(two, 1000)
    assert (a != b).mean() > 0.95
    assert 0.3 < (np.sign(a.view(np.float32)) != np.sign(b.view(np.float32))).mean() < 0.7


def test_these_are_the_words_of_the_page():
    """tests/js/page-poison.test.js has the same ones."""
    words = poison.finite_words(0xFFC1FE05, poison.PERIOD + 2)
    assert [hex(word) for word in words[[0, 1, 2, 3, 65497, 65498, 65499]]] == [
        "0xfb8a7b6d", "0x7b8afb6d", "0x7b01fb3d", "0xfb017b3d", "0x7bc4fb0e", "0xfb8a7b6d",
        "0x7b8afb6d",
    ]  # fmt: skip


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_every_element_is_compared_with_what_lay_at_its_place(number, dtype):
    size = 2 * poison.PERIOD * 4 // np.dtype(dtype).itemsize + 5  # an odd number, beyond a period
    fill = NUMBERS if number else np.full(3 * poison.PERIOD, POISON[0], np.uint32)
    array = fill.view(dtype)[:size].copy()
    assert poison.still_poison(array, number, POISON[number]).all()
    array[[0, 7, size - 1]] = 1
    left = poison.still_poison(array, number, POISON[number])
    assert np.flatnonzero(~left).tolist() == [0, 7, size - 1]


KEPT = {
    "the maximum with it": np.fmax,  # as WGSL's max, which drops NaN
    "the minimum with it": np.fmin,
    "the sum with it": np.add,
    "what is larger of it": lambda old, new: np.where(old > new, old, new),
    "what is below zero of it": lambda old, new: np.where(old < 0, old, new),
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=list(KEPT))
@pytest.mark.parametrize("name", ["o", "lse", "attn", "dq", "dk", "dv"])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_a_kernel_that_keeps_of_an_output_what_it_held_fails(kept, name, dtype):
    op = "backward" if name.startswith("d") else "forward"
    case = Case.parse(f"{op}:T=5,H=2,D=3,dtype={dtype}" + ",attn=1" * (name == "attn"))
    tensors = uploads(case, results(case))
    spec = next(spec for spec in outputs_of(case) if spec.name == name)
    fills = np.full(200, POISON[0], np.uint32), NUMBERS
    for tensor, fill in zip((name, f"{name}.repeat"), fills, strict=True):
        right = tensors[tensor]
        with np.errstate(all="ignore"):
            tensors[tensor] = kept(fill.view(spec.numpy)[: right.size], right).astype(spec.numpy)
    report = verdict_on(case, tensors)
    assert report.status == "fail"
    assert report.message.startswith(f"{name}: ")
    assert "never written" in report.message or "when the same dispatch ran" in report.message
