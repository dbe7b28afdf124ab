"""Writes train-golden.json: what NumPy and JavaScript must both reach.

Digests of first weights and batches; for small models also losses, and of the last step's
gradients the length and one projection.

    python -m tests.data.make_train_golden

Run it when the text, the parameters or their order change on purpose.
"""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np

from server.adamw import AdamW
from server.gpt_data import batch
from server.gpt_model import Weights, initial_weights, loss_and_gradients, parameters
from server.presets import GptConfig, preset

GOLDEN = Path(__file__).with_name("train-golden.json")

CONFIGS = {
    "tiny": (preset("tiny"), 0),
    "small": (preset("small"), 9007199254740993),
    "ragged": (GptConfig(layers=3, C=15, T=7, B=5, H=3, D=5, rate=0.01), 2**64 - 2),
}
STEPS = {"ragged": 4}


def entry(name: str, config: GptConfig, seed: int) -> dict[str, object]:
    flat = np.concatenate([w.ravel() for w in initial_weights(config, seed).values()])
    batches = [array for step in range(3) for array in batch(config, seed, step)]
    found: dict[str, object] = {
        "config": name,
        "sizes": dataclasses.asdict(config),
        "seed": str(seed),
        "parameters": [[p.name, *p.shape] for p in parameters(config)],
        "weights_sha256": hashlib.sha256(flat.astype("<f4").tobytes()).hexdigest(),
        "batches_sha256": hashlib.sha256(b"".join(b.tobytes() for b in batches)).hexdigest(),
    }
    if name in STEPS:
        losses, gradients = trained(config, seed, STEPS[name])
        found["losses"] = [round(loss, 9) for loss in losses]
        found["gradients"] = {name: fingerprint(g) for name, g in gradients.items()}
    return found


def trained(config: GptConfig, seed: int, steps: int) -> tuple[list[float], Weights]:
    """Losses of the first steps and gradients of the last one, in float64."""
    weights = {n: w.astype(np.float64) for n, w in initial_weights(config, seed).items()}
    decaying = [p.name for p in parameters(config) if p.decays]
    optimizer = AdamW(weights, rate=config.rate, decaying=decaying)
    losses: list[float] = []
    gradients: Weights = {}
    for step in range(steps):
        if step:
            optimizer.update(weights, gradients)
        loss, gradients = loss_and_gradients(weights, *batch(config, seed, step), config)
        losses.append(loss)
    return losses, gradients


def fingerprint(gradient: np.ndarray) -> list[float]:
    """Two numbers that change when an element does, or moves."""
    flat = gradient.ravel()
    order = flat @ (np.arange(flat.size) % 7 - 3)
    return [float(f"{x:.9g}") for x in (np.linalg.norm(flat), order)]


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(entry(name, *given)) for name, given in CONFIGS.items())
    GOLDEN.write_text(f"[\n{lines}\n]\n")
