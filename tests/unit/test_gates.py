"""The gates of training pass what they should and fail the rest, with the numbers in the text."""

import math

import pytest

from server.gates import drift, finished, overfit

TWIN = [5.5 * 0.98**n for n in range(50)]
FALLING = [5.545 * 0.97**n for n in range(150)]


def with_loss(losses: list[float], step: int, loss: float) -> list[float]:
    return [*losses[: step - 1], loss, *losses[step:]]


def test_equal_losses_do_not_drift() -> None:
    gate = drift(TWIN, TWIN)
    assert gate.passed
    assert gate.worst == 0


def test_a_drift_is_found_at_its_step_whichever_way_it_goes() -> None:
    for factor in (0.93, 1.07):
        gate = drift(with_loss(TWIN, 30, factor * TWIN[29]), TWIN)
        assert not gate.passed
        assert gate.step == 30
        assert gate.worst == pytest.approx(0.07)
        assert "worst 7 % of" in gate.message
        assert "step 30" in gate.message


def test_just_under_five_percent_passes_and_just_over_fails() -> None:
    assert drift([1.0499 * x for x in TWIN], TWIN).passed
    assert not drift([1.0501 * x for x in TWIN], TWIN).passed


def test_a_drift_that_passes_but_is_no_rounding_is_called_wrong() -> None:
    assert "something is wrong" in drift([1.0011 * x for x in TWIN], TWIN).message
    assert "wrong" not in drift([1.0009 * x for x in TWIN], TWIN).message


def test_the_first_ten_steps_are_not_judged_and_the_eleventh_is() -> None:
    assert drift(with_loss(TWIN, 10, 9.0), TWIN).passed
    assert drift(with_loss(TWIN, 11, 9.0), TWIN).step == 11
    assert not drift(with_loss(TWIN, 11, 9.0), TWIN).passed


def test_the_last_step_is_judged() -> None:
    assert not drift(with_loss(TWIN, 50, 9.0), TWIN).passed


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, 0.0, -1.0])
@pytest.mark.parametrize("step", [1, 40])
def test_a_loss_that_is_no_positive_number_fails_at_any_step(loss: float, step: int) -> None:
    for gate in (
        drift(with_loss(TWIN, step, loss), TWIN),
        drift(TWIN, with_loss(TWIN, step, loss)),
        overfit(with_loss(FALLING, step, loss)),
    ):
        assert not gate.passed
        assert gate.step == step
        assert str(loss) in gate.message


def test_too_few_and_too_many_steps_fail() -> None:
    for losses in ([], TWIN[:49], [*TWIN, 1.0]):
        assert not drift(losses, TWIN).passed
        assert not drift(TWIN, losses).passed
    for losses in ([], FALLING[:149], [*FALLING, 0.01]):
        gate = overfit(losses)
        assert not gate.passed
        assert f"{len(losses)} losses" in gate.message


def test_a_model_that_overfits_passes_and_the_text_says_since_when() -> None:
    gate = overfit(with_loss(FALLING, 120, 0.5))
    assert gate.passed
    assert "from step 121 on" in gate.message


def test_a_loss_that_ends_at_a_half_has_not_overfitted() -> None:
    assert overfit(with_loss(FALLING, 150, 0.4999)).passed
    assert not overfit(with_loss(FALLING, 150, 0.5)).passed


def test_a_model_that_starts_with_knowledge_or_with_chaos_fails() -> None:
    for first in (5.2, 5.9):
        gate = overfit(with_loss(FALLING, 1, first))
        assert not gate.passed
        assert "5.545" in gate.message


def test_a_page_that_ends_a_lost_training_is_told_why_and_not_that_steps_are_missing() -> None:
    gate = drift([*TWIN[:12], math.nan], TWIN)
    assert not gate.passed
    assert gate.step == 13
    assert "nan at step 13" in gate.message


def test_without_a_gate_any_finite_losses_pass_if_they_are_all_there() -> None:
    assert finished([1.0, 9.0], 2).passed
    assert not finished([1.0], 2).passed
    assert not finished([1.0, math.nan], 2).passed
