"""Presets, first weights, batches, the optimizer, and the twin's training as a whole."""

import dataclasses
import json
import math
import re
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from server import gpt_layers
from server.adamw import AdamW
from server.errors import CaseError
from server.gates import OVERFIT_STEPS, overfit
from server.gpt import Twin
from server.gpt_data import batch, corpus, offsets
from server.gpt_model import initial_weights, parameters
from server.paths import STATIC
from server.presets import OPTIMIZER, PRESETS, AdamWSettings, GptConfig, preset

TINY = PRESETS["tiny"]
# Products so small that BLAS keeps them in one thread, whatever else the machine is doing.
SMALL = GptConfig(layers=2, C=24, T=16, B=2, H=3, D=8, rate=0.005)
GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "train-golden.json").read_text())


def test_presets_are_the_agreed_ones() -> None:
    sizes = {
        name: (p.layers, p.C, p.T, p.B, p.H, p.D)
        for name, p in PRESETS.items()
    }  # fmt: skip
    assert sizes == {
        "tiny": (2, 48, 32, 16, 3, 16),
        "small": (3, 96, 64, 16, 3, 32),
        "medium": (4, 128, 96, 16, 4, 32),
        "large": (6, 192, 128, 12, 6, 32),
        "xl": (8, 256, 128, 8, 8, 32),
        "huge": (12, 256, 256, 8, 8, 32),
        "massive": (14, 384, 256, 4, 12, 32),
        "mega": (14, 384, 512, 2, 12, 32),
        "behemoth": (24, 1280, 512, 1, 20, 64),
    }


def test_an_unknown_preset_is_refused_with_the_list() -> None:
    with pytest.raises(CaseError, match=r"preset=giga.*tiny, small.*behemoth"):
        preset("giga")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"C": 49}, "C=49 must be H·D, and H=3, D=16 make 48"),
        ({"T": 0}, "T=0"),
        ({"B": -1}, "B=-1"),
        ({"layers": 1.5}, "layers=1.5"),
        ({"B": True}, "B=True"),
        ({"rate": 0.0}, "rate=0"),
        ({"rate": math.nan}, "rate=nan"),
    ],
)
def test_a_size_that_makes_no_model_is_refused(change: dict[str, float], text: str) -> None:
    with pytest.raises(CaseError, match=text):
        dataclasses.replace(TINY, **change)


def test_the_text_is_plain_ascii_of_a_few_pages() -> None:
    text = corpus()
    assert 8_000 <= text.size <= 16_000
    assert text.max() < 127
    assert b"\r" not in text.tobytes()


def test_targets_are_the_bytes_behind_the_tokens() -> None:
    tokens, targets = batch(TINY, seed=3, step=5)
    assert tokens.shape == targets.shape == (TINY.B, TINY.T)
    assert np.array_equal(tokens[:, 1:], targets[:, :-1])
    assert bytes(tokens[0]) in corpus().tobytes()


def test_steps_and_seeds_draw_different_sequences_and_steps_share_no_words() -> None:
    draws = [offsets(TINY, seed, step, 10**9) for seed in (0, 1) for step in range(50)]
    assert np.unique(draws).size == 2 * 50 * TINY.B
    odd = dataclasses.replace(TINY, B=5)
    assert np.unique([offsets(odd, 0, step, 10**9) for step in range(50)]).size == 250


def test_offsets_reach_both_ends_of_the_text() -> None:
    config = dataclasses.replace(TINY, B=2000)
    assert set(offsets(config, 0, 0, TINY.T + 3)) == {0, 1, 2}


def test_a_text_shorter_than_a_context_is_refused() -> None:
    with pytest.raises(CaseError, match="T=32 needs a text of at least 33 bytes, not 32"):
        offsets(TINY, 0, 0, TINY.T)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda g: g["config"])
def test_first_weights_and_batches_have_the_committed_digests(golden: dict[str, object]) -> None:
    config, seed = golden["sizes"], int(str(golden["seed"]))
    assert isinstance(config, dict)
    weights = initial_weights(GptConfig(**config), seed)
    flat = np.concatenate([w.ravel() for w in weights.values()])
    assert [[p.name, *p.shape] for p in parameters(GptConfig(**config))] == golden["parameters"]
    assert sha256(flat.astype("<f4").tobytes()).hexdigest() == golden["weights_sha256"]
    batches = b"".join(
        array.tobytes() for step in range(3) for array in batch(GptConfig(**config), seed, step)
    )
    assert sha256(batches).hexdigest() == golden["batches_sha256"]


def test_constants_of_the_layers_are_those_of_the_shaders() -> None:
    def constant(file: str, name: str) -> float:
        text = (STATIC / "shaders" / "train" / file).read_text()
        found = re.search(rf"^const {name} = ([-+.0-9e]+);", text, re.MULTILINE)
        assert found, (file, name)
        return float(found[1])

    assert constant("layer_norm.wgsl", "EPSILON") == gpt_layers.LAYER_NORM_EPSILON
    assert constant("gelu_slope.wgsl", "GELU_CUBIC") == gpt_layers.GELU_CUBIC
    assert constant("gelu_slope.wgsl", "GELU_SCALE") == gpt_layers.GELU_SCALE


def test_first_weights_have_the_spread_of_gpt2() -> None:
    weights = initial_weights(PRESETS["medium"], seed=0)
    sigma = {"h1.q.weight": 0.02, "h1.out.weight": 0.02 / math.sqrt(8), "wte": 0.02}
    for name, expected in sigma.items():
        assert weights[name].std() == pytest.approx(expected, rel=0.03), name
        assert abs(weights[name].mean()) < expected / 30, name
    assert (weights["h0.ln1.gamma"] == 1).all()
    assert not weights["h0.q.bias"].any()


def test_no_two_parameters_share_their_random_numbers() -> None:
    weights = initial_weights(TINY, seed=0)
    drawn = [p.name for p in parameters(TINY) if p.start in ("normal", "residual")]
    assert len({float(weights[name].flat[0]) for name in drawn}) == len(drawn)


def test_a_first_step_of_adamw_is_the_rate_against_the_sign_of_the_gradient() -> None:
    weights = {"w": np.array([1.0, 2.0, 3.0, 4.0])}
    optimizer = AdamW(weights, rate=0.1, decaying=())
    optimizer.update(weights, {"w": np.array([5.0, -0.01, 0.0, 1e-3])})
    assert weights["w"] == pytest.approx([0.9, 2.1, 3.0, 3.9], abs=1e-5)


def test_adamw_follows_its_formula_written_out() -> None:
    settings = AdamWSettings(beta1=0.8, beta2=0.9, epsilon=1e-3, decay=0.3)
    random = np.random.default_rng(7)
    w, gradients = random.normal(size=4), random.normal(size=(9, 4))
    weights = {"w": w.copy()}
    optimizer = AdamW(weights, rate=0.05, decaying=("w",), settings=settings)
    for g in gradients:
        optimizer.update(weights, {"w": g})
    for t in range(1, 10):
        # The averages as sums over the past: no recurrence that could share a mistake.
        past = np.arange(t)[::-1, None]
        m = ((1 - 0.8) * 0.8**past * gradients[:t]).sum(axis=0) / (1 - 0.8**t)
        v = ((1 - 0.9) * 0.9**past * gradients[:t] ** 2).sum(axis=0) / (1 - 0.9**t)
        w = w - 0.05 * (m / (np.sqrt(v) + 1e-3) + 0.3 * w)
    assert weights["w"] == pytest.approx(w, rel=1e-12)


def test_only_matrices_shrink() -> None:
    weights = {p.name: np.ones(p.shape, np.float32) for p in parameters(TINY)}
    decaying = [p.name for p in parameters(TINY) if p.decays]
    optimizer = AdamW(weights, rate=0.5, decaying=decaying)
    optimizer.update(weights, {name: np.zeros_like(w) for name, w in weights.items()})
    for name, w in weights.items():
        shrinks = name in ("wte", "wpe") or name.endswith(".weight")
        assert np.allclose(w, 1 - 0.5 * OPTIMIZER.decay if shrinks else 1), name


def test_twin_in_training_repeats_itself_and_depends_on_the_seed() -> None:
    first, second, other = Twin(SMALL, seed=1), Twin(SMALL, seed=1), Twin(SMALL, seed=2)
    losses = [first.step() for _ in range(3)]
    assert losses == [second.step() for _ in range(3)]
    assert losses != [other.step() for _ in range(3)]
    assert losses[0] == pytest.approx(math.log(256), abs=0.05)
    assert all(w.dtype == np.float32 for w in first.weights.values())


def test_twin_passes_the_overfit_gate() -> None:
    twin = Twin(SMALL, seed=0, one_batch=True)
    gate = overfit([twin.step() for _ in range(OVERFIT_STEPS)])
    assert gate.passed, str(gate)


def test_twin_learns_from_fresh_batches() -> None:
    twin = Twin(SMALL, seed=0)
    losses = [twin.step() for _ in range(50)]
    assert np.mean(losses[-5:]) < 3.2
