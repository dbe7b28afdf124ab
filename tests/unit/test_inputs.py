"""server/inputs.py against the committed digests, and each family against what it promises."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from server.cases import Case
from server.grammar import DISTS
from server.inputs import digest, few_weights, make_inputs

GOLDEN = json.loads((Path(__file__).parents[1] / "data/inputs-golden.json").read_text())


def make(text: str) -> dict[str, np.ndarray]:
    return make_inputs(Case.parse(text))


def scores(case: Case) -> np.ndarray:
    """scale·QKᵀ in float64, [B, H, Tq, Tk]."""
    arrays = make_inputs(case)
    k = np.repeat(arrays["k"], case.H // case.Hkv, axis=2).astype(np.float64)
    S = np.einsum("bihd,bjhd->bhij", arrays["q"].astype(np.float64), k)
    return S * np.float64(case.scale_f32)


# --- the same bits as JavaScript -----------------------------------------------------------------


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda entry: entry["case"])
def test_the_inputs_have_the_committed_bits(entry: dict[str, object]) -> None:
    case = Case.parse(str(entry["case"]))
    assert case.to_job() == entry["spec"]
    arrays = make_inputs(case)
    assert {name: digest({name: array}) for name, array in arrays.items()} == entry["tensors"]
    assert digest(arrays) == entry["sha256"]


def test_the_golden_file_covers_every_family_in_both_dtypes() -> None:
    specs = [entry["spec"] for entry in GOLDEN]
    assert {(s["dist"], s["dtype"]) for s in specs} >= {
        (d, t) for d in DISTS for t in ("f32", "f16")
    }
    assert {s["bias"] for s in specs} == {"none", "tt", "htt", "bhtt", "b11t"}


# --- shapes, types, streams ----------------------------------------------------------------------


def test_shapes_follow_the_case() -> None:
    arrays = make("backward:B=2,Tq=3,Tk=4,H=6,Hkv=2,D=5,bias=b11t")
    assert {name: array.shape for name, array in arrays.items()} == {
        "q": (2, 3, 6, 5),
        "k": (2, 4, 2, 5),
        "v": (2, 4, 2, 5),
        "do": (2, 3, 6, 5),
        "bias": (2, 1, 1, 4),
    }
    assert list(make("forward:T=3,D=5")) == ["q", "k", "v"]


@pytest.mark.parametrize("dist", DISTS)
@pytest.mark.parametrize("D", [1, 8, 256])
def test_every_family_is_finite_and_of_the_asked_type(dist: str, D: int) -> None:
    text = f"backward:B=2,Tq=9,Tk=11,H=4,Hkv=2,D={D},dist={dist},bias=tt"
    wide, narrow = make(text), make(text + ",dtype=f16")
    for name, array in wide.items():
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert np.isfinite(array).all()
        assert narrow[name].dtype == np.float16
        assert np.array_equal(narrow[name], array.astype(np.float16))
        assert np.isfinite(narrow[name]).all()


def test_tensors_come_from_streams_of_their_own() -> None:
    arrays = make("backward:T=16,D=16,bias=tt")
    assert len({array.tobytes() for array in arrays.values()}) == 5


def test_the_seed_changes_every_random_tensor() -> None:
    a, b = (make(f"backward:T=16,D=16,bias=tt,seed={seed}") for seed in (0, 2**63))
    assert all(not np.array_equal(a[name], b[name]) for name in a)


def test_layout_and_mask_change_no_input() -> None:
    plain = digest(make("forward:B=2,T=8,H=3,D=4"))
    for extra in (
        "layout=bhtd",
        "layout=packed",
        "causal=0",
        "attn=1",
        "scale=2",
        "kernel=baseline",
    ):
        assert digest(make(f"forward:B=2,T=8,H=3,D=4,{extra}")) == plain


def test_the_digest_is_the_sha256_of_the_bytes_in_fixed_order() -> None:
    arrays = make("backward:T=5,D=3,bias=tt")
    joined = b"".join(arrays[name].tobytes() for name in ("q", "k", "v", "do", "bias"))
    backwards = dict(reversed(arrays.items()))
    strided = {name: np.repeat(array, 2, axis=0)[::2] for name, array in arrays.items()}
    assert digest(arrays) == hashlib.sha256(joined).hexdigest()
    assert digest(backwards) == digest(strided) == digest(arrays)


# --- what each family promises -------------------------------------------------------------------


@pytest.mark.parametrize("dist", DISTS)
def test_do_and_bias_are_random_in_every_family(dist: str) -> None:
    arrays = make(f"backward:T=40,H=2,D=8,dist={dist},bias=tt")
    for name in ("do", "bias"):
        assert len(np.unique(arrays[name])) > 300
        assert abs(arrays[name].mean()) < 0.1


def test_uniform_lies_between_0_and_1() -> None:
    q, k, v = make("forward:T=99,D=8,dist=uniform").values()
    for array in (q, k, v):
        assert array.min() >= 0
        assert array.max() < 1
        assert abs(array.mean() - 0.5) < 0.05


def test_f16exact_is_the_same_problem_in_both_types() -> None:
    wide = make("backward:T=33,D=7,dist=f16exact,bias=tt")
    narrow = make("backward:T=33,D=7,dist=f16exact,bias=tt,dtype=f16")
    assert all(np.array_equal(wide[name], narrow[name].astype(np.float32)) for name in wide)


def test_zeros_makes_every_score_equal_but_not_every_value() -> None:
    arrays = make("forward:T=9,D=4,dist=zeros")
    assert not arrays["q"].any()
    assert not arrays["k"].any()
    assert len(np.unique(arrays["v"])) > 30


def test_ties_repeat_the_first_row_of_each_head() -> None:
    arrays = make("forward:B=2,T=9,H=3,D=4,dist=ties")
    for name in ("k", "v"):
        assert (arrays[name] == arrays[name][:, :1]).all()
        assert len(np.unique(arrays[name][:, 0])) == 2 * 3 * 4
    assert len(np.unique(arrays["q"])) > 200


def test_onehot_rows_prefer_the_keys_of_their_own_residue() -> None:
    S = scores(Case.parse("forward:Tq=20,Tk=30,H=2,D=8,dist=onehot"))
    same = np.arange(20)[:, None] % 8 == np.arange(30) % 8
    assert np.array_equal(S > 0, np.broadcast_to(same, S.shape))
    assert S.max() == pytest.approx(64 / 8**0.5)


@pytest.mark.parametrize("D", [1, 8, 64, 256])
def test_large_logits_reach_about_100(D: int) -> None:
    S = scores(Case.parse(f"forward:T=60,H=2,D={D},dist=large"))
    assert 80 < S.max() < 1200
    assert -1200 < S.min() < -80
    assert 25 < S.std() < 40


@pytest.mark.parametrize("D", [1, 3, 8, 64, 100, 256])
def test_negative_scores_lie_near_minus_10000_and_are_not_alike(D: int) -> None:
    S = scores(Case.parse(f"forward:T=60,H=2,D={D},dist=negative"))
    assert S.min() > -10100
    assert S.max() < -5000
    assert 0.3 < S.std(axis=-1).mean() < 20


@pytest.mark.parametrize("D", [1, 3, 8, 64, 100, 256])
def test_growing_scores_move_the_maximum_at_every_tile(D: int) -> None:
    case = Case.parse(f"forward:T=512,H=2,D={D},dist=growing")
    assert (make_inputs(case)["q"] > 0).all()
    tiles = scores(case).reshape(1, 2, 512, 32, 16).max(axis=-1)  # maxima of tiles of 16 keys
    assert (np.diff(tiles, axis=-1) > 0).mean() > 0.95
    assert 20 < (tiles[..., -1] - tiles[..., 0]).mean() < 60


def test_headscaled_heads_differ_by_powers_of_two() -> None:
    plain, scaled = (make(f"forward:T=9,H=14,Hkv=7,D=4,dist={d}") for d in ("normal", "headscaled"))
    for name, factors in (
        ("q", [0.5, 1, 2]),
        ("k", [0.5, 1, 2]),
        ("v", [0.125, 0.25, 0.5, 1, 2, 4, 8]),
    ):
        for h in range(plain[name].shape[2]):
            expected = plain[name][:, :, h] * np.float32(factors[h % len(factors)])
            assert np.array_equal(scaled[name][:, :, h], expected)


def test_indexcoded_values_tell_where_they_stand() -> None:
    v = make("forward:B=3,T=70,H=5,D=9,dist=indexcoded,dtype=f16")["v"]
    for b, t, n, d in ((0, 0, 0, 0), (2, 69, 4, 8), (1, 60, 3, 5), (2, 61, 1, 6), (1, 2, 3, 7)):
        assert v[b, t, n, d] == 1 + (t, n, b, d)[d % 4] % 61


def test_only_onehot_has_few_weights() -> None:
    few = [d for d in DISTS if few_weights(Case.parse(f"forward:T=5,D=8,dist={d}"))]
    assert few == ["onehot"]
