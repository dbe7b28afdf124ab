"""What a training may be asked to do, and what it is thought to cost."""

import math

import pytest

from server.errors import CaseError
from server.gpt_model import parameters
from server.presets import PRESETS, preset
from server.training_spec import TrainingSpec, flops_per_step, twin_bytes


def test_gates_have_their_own_number_of_steps_and_take_no_other() -> None:
    assert TrainingSpec.of(gate="drift").steps == 50
    assert TrainingSpec.of(gate="overfit", steps=150).steps == 150
    assert TrainingSpec.of(gate="bench").steps == 1
    assert TrainingSpec.of(gate="none", steps=7).steps == 7
    with pytest.raises(CaseError, match="the overfit gate takes 150 steps"):
        TrainingSpec.of(gate="overfit", steps=149)


def test_only_the_overfit_gate_sees_one_batch_and_only_the_drift_gate_has_a_twin() -> None:
    specs = [TrainingSpec.of(gate=gate) for gate in ("drift", "overfit", "bench", "none")]
    assert [spec.one_batch for spec in specs] == [False, True, False, False]
    assert [spec.has_twin for spec in specs] == [True, False, False, False]


def test_a_context_of_ones_own_is_named() -> None:
    spec = TrainingSpec.of("mega", gate="bench", context=1024)
    assert spec.config.T == 1024
    assert str(spec) == "timing, preset mega with T = 1024, attention fa2, seed 0"
    assert "with" not in str(TrainingSpec.of("mega", gate="bench", context=512))


@pytest.mark.parametrize("name", PRESETS)
def test_operations_are_counted_from_the_parameters_and_the_visible_scores(name: str) -> None:
    c = preset(name)
    products = [p for p in parameters(c) if p.name.endswith(".weight")]
    weights = sum(math.prod(p.shape) for p in products)
    visible = sum(i + 1 for i in range(c.T))
    attention = c.layers * c.B * c.H * visible * c.D * 2 * 7
    assert flops_per_step(c) == 6 * c.B * c.T * weights + attention


def test_the_memory_of_a_twin_covers_its_weights_four_times_and_its_matrices() -> None:
    for c in PRESETS.values():
        weights = sum(math.prod(p.shape) for p in parameters(c))
        least = 4 * (4 * weights + c.layers * c.B * c.H * c.T * c.T)
        assert 0.95 * least < twin_bytes(c) < 4 * least + 50_000_000
