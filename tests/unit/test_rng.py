"""The words and distributions of server/rng.py against published and committed answers."""

import hashlib

import numpy as np
import pytest

from server import rng

SEED = 1234567890123456789


def sha(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def hex_words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (
            "ffffffff ffffffff ffffffff ffffffff",
            "ffffffff ffffffff",
            "408f276d 41c83b0e a20bc7c6 6d5451fd",
        ),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_philox_gives_the_published_words_of_random123(counter: str, key: str, words: str) -> None:
    low, high = hex_words(key)
    got = rng.philox(np.array(hex_words(counter), np.uint64)[:, None], (low, high))
    assert got.tolist() == [hex_words(words)]


def test_a_million_words_uniforms_and_normals_have_the_digests_that_js_and_wgsl_gave() -> None:
    words = rng.words(SEED, 0, 2**20)
    assert sha(words) == "ef39e36676c9a5a8"
    # This digest was taken over [-1, 1).
    assert sha(rng.uniforms(words) * np.float32(2) - np.float32(1)) == "91525699fbe5134e"
    assert sha(rng.normals(words[: 2**20 // 6 * 6])) == "b67c30154581ea40"
    assert sha(rng.random_normals(SEED, 0, 2**20 // 6)) == "b67c30154581ea40"


def test_every_distribution_stays_in_its_range_and_on_its_grid() -> None:
    words = np.array([0] * 6 + [0xFFFFFFFF] * 6, np.uint32)
    assert rng.uniforms(words)[[0, 6]].tolist() == [0, 1 - 2.0**-24]
    assert rng.f16_exact(words)[[0, 6]].tolist() == [-1, 1 - 2.0**-10]
    assert rng.normals(words).tolist() == [-6 + 6 * 2.0**-16, 6 - 6 * 2.0**-16]


def test_normals_have_mean_zero_and_unit_variance() -> None:
    x = rng.random_normals(3, 1, 10**6).astype(np.float64)
    assert abs(x.mean()) < 0.004
    assert abs(x.std() - 1) < 0.004
    assert abs((x**4).mean() - 2.9) < 0.03  # excess kurtosis -0.1, by twelve uniform terms


def test_a_stream_can_be_entered_at_any_block_and_cut_at_any_word() -> None:
    whole = rng.words(99, 2, 103)
    assert np.array_equal(rng.words(99, 2, 63, start_block=10), whole[40:])
    assert not np.array_equal(rng.words(99, 1, 103), whole)
    # The counter's high word counts on where the low one ends.
    assert len(set(rng.words(99, 2, 16, start_block=2**32 - 2).tolist())) == 16
    assert not np.array_equal(rng.words(99, 2, 4, start_block=2**32), whole[:4])


def test_pieces_do_not_show_in_a_long_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    words, numbers = rng.words(5, 0, 1003), rng.random_normals(5, 0, 1003)
    monkeypatch.setattr(rng, "_CHUNK_BLOCKS", 8)
    assert np.array_equal(rng.words(5, 0, 1003), words)
    assert np.array_equal(rng.random_normals(5, 0, 1003), numbers)


def test_both_halves_of_the_seed_count() -> None:
    streams = {rng.words(seed, 0, 4).tobytes() for seed in (0, 1, 2**32, 2**32 + 1, 2**64 - 1)}
    assert len(streams) == 5
