"""Writes train-golden.json: digests of first weights and batches that NumPy and JavaScript reach.

    python -m tests.data.make_train_golden

Run it when the text, the parameters or their order change on purpose.
"""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np

from server.gpt_data import batch
from server.gpt_model import initial_weights, parameters
from server.presets import GptConfig, preset

GOLDEN = Path(__file__).with_name("train-golden.json")

CONFIGS = {
    "tiny": (preset("tiny"), 0),
    "small": (preset("small"), 9007199254740993),
    "ragged": (GptConfig(layers=3, C=15, T=7, B=5, H=3, D=5), 2**64 - 2),
}


def entry(name: str, config: GptConfig, seed: int) -> dict[str, object]:
    flat = np.concatenate([w.ravel() for w in initial_weights(config, seed).values()])
    batches = [array for step in range(3) for array in batch(config, seed, step)]
    return {
        "config": name,
        "sizes": dataclasses.asdict(config),
        "seed": str(seed),
        "parameters": [[p.name, *p.shape] for p in parameters(config)],
        "weights_sha256": hashlib.sha256(flat.astype("<f4").tobytes()).hexdigest(),
        "batches_sha256": hashlib.sha256(b"".join(b.tobytes() for b in batches)).hexdigest(),
    }


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(entry(name, *given)) for name, given in CONFIGS.items())
    GOLDEN.write_text(f"[\n{lines}\n]\n")
