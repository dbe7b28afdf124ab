"""The twin's gradients against finite differences, and its attention against the reference."""

import itertools
import math

import numpy as np
import pytest

from server import gpt_layers as nn
from server.gpt_model import Weights, loss_and_gradients, parameters
from server.presets import GptConfig
from server.reference import attention

# Two blocks, so that a gradient crosses one; no size equals another, so that none can stand in.
CONFIG = GptConfig(layers=2, C=6, T=5, B=3, H=2, D=3)
NAMES = [p.name for p in parameters(CONFIG)]


def weights_and_batch() -> tuple[Weights, np.ndarray, np.ndarray]:
    """Float64 weights far from their first values: gains not 1, shifts and biases not 0."""
    random = np.random.default_rng(3)
    weights = {p.name: random.normal(0, 0.5, p.shape) for p in parameters(CONFIG)}
    tokens = random.integers(0, 7, (CONFIG.B, CONFIG.T))  # few bytes: most occur more than once
    return weights, tokens, random.integers(0, 256, tokens.shape)


@pytest.fixture(scope="module")
def gradients() -> Weights:
    return loss_and_gradients(*weights_and_batch(), CONFIG)[1]


@pytest.mark.parametrize("name", NAMES)
def test_gradient_agrees_with_finite_differences(name: str, gradients: Weights) -> None:
    weights, tokens, targets = weights_and_batch()
    random = np.random.default_rng(4)
    for _ in range(3):
        direction = random.normal(size=weights[name].shape)
        h, loss = 1e-4, []
        # Five points: the error falls with h⁴, so that h can be large against the rounding.
        for n in (-2, -1, 1, 2):
            moved = weights | {name: weights[name] + n * h * direction}
            loss.append(loss_and_gradients(moved, tokens, targets, CONFIG)[0])
        slope = (loss[0] - 8 * loss[1] + 8 * loss[2] - loss[3]) / (12 * h)
        assert np.sum(gradients[name] * direction) == pytest.approx(slope, rel=1e-6, abs=1e-10)


def test_every_parameter_has_a_gradient_of_its_shape_and_moves_the_loss(
    gradients: Weights,
) -> None:
    assert set(gradients) == set(NAMES)
    for p in parameters(CONFIG):
        assert gradients[p.name].shape == p.shape
        # A softmax does not change when a number is added to all scores of a row, and that is all
        # that a bias of k does.
        still = p.name.endswith(".k.bias")
        assert (np.abs(gradients[p.name]).max() < 1e-15) == still, p.name


def test_only_bytes_that_occur_have_a_gradient(gradients: Weights) -> None:
    present = np.unique(weights_and_batch()[1])
    assert present.size < CONFIG.B * CONFIG.T / 2
    assert np.array_equal(np.flatnonzero(gradients["wte"].any(axis=1)), present)


def test_float32_weights_give_float32_gradients_close_to_those_of_float64(
    gradients: Weights,
) -> None:
    weights, tokens, targets = weights_and_batch()
    single = {name: w.astype(np.float32) for name, w in weights.items()}
    _, found = loss_and_gradients(single, tokens, targets, CONFIG)
    for name, expected in gradients.items():
        assert found[name].dtype == np.float32, name
        assert found[name] == pytest.approx(expected, rel=1e-3, abs=1e-6), name


def test_a_later_byte_changes_no_earlier_prediction() -> None:
    q, k, v = np.random.default_rng(5).normal(size=(3, 2, 7, 6))
    o, _ = nn.attention(q, k, v, 3)
    k[:, 4:] += 1
    v[:, 4:] += 1
    changed, _ = nn.attention(q, k, v, 3)
    assert np.array_equal(o[:, :4], changed[:, :4])
    assert not np.isclose(o[:, 4:], changed[:, 4:]).any()


def test_attention_is_that_of_the_reference() -> None:
    B, T, H, D = 2, 9, 3, 5
    q, k, v, do = np.random.default_rng(6).normal(size=(4, B, T, H * D))
    o, p = nn.attention(q, k, v, H)
    dq, dk, dv = nn.attention_backward(do, q, k, v, o, p)
    q4, k4, v4, do4 = (x.reshape(B, T, H, D) for x in (q, k, v, do))
    truth = attention(q4, k4, v4, do=do4, scale=float(np.float32(1 / math.sqrt(D))))
    assert p == pytest.approx(truth["attn"], rel=1e-11, abs=1e-13)
    for name, found in {"o": o, "dq": dq, "dk": dk, "dv": dv}.items():
        assert found.reshape(B, T, H, D) == pytest.approx(truth[name], rel=1e-11, abs=1e-13), name


def test_cross_entropy_is_finite_for_logits_that_overflow_exp() -> None:
    logits = np.array([[1e4, 0, -1e4], [-1e4, -1e4, -1e4]], np.float32)
    loss, dlogits = nn.cross_entropy(logits, np.array([1, 2]))
    assert loss == pytest.approx((1e4 + math.log(3)) / 2)
    expected = [[0.5, -0.5, 0], [1 / 6, 1 / 6, -1 / 3]]
    assert dlogits == pytest.approx(np.array(expected), abs=1e-7)


def test_gelu_is_odd_but_for_half_of_x_and_ends_in_zero_and_x() -> None:
    x = np.linspace(-6, 6, 101)
    assert nn.gelu(x) - x / 2 == pytest.approx(nn.gelu(-x) + x / 2, abs=1e-12)
    for far, value, slope in ((-40.0, 0, 0), (40.0, 40, 1), (0.0, 0, 0.5)):
        at = np.array([far])
        assert nn.gelu(at) == pytest.approx(value)
        assert nn.gelu_backward(np.ones(1), at) == pytest.approx(slope)


def test_sizes_of_the_checked_model_differ() -> None:
    sizes = (CONFIG.layers, CONFIG.C, CONFIG.T, CONFIG.B, 4 * CONFIG.C)
    assert all(a != b for a, b in itertools.combinations(sizes, 2))
