"""Folders of golden cases: what is read, and which broken files are named how."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from server.errors import CaseError
from server.golden import GoldenCase
from server.golden_files import Unusable, read_set, sets_in

FOLDER = Path(__file__).parent.parent / "data" / "golden"
NAME = "hd002_T37_causal"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A set of one case, to be broken."""
    return copy_of(tmp_path, NAME)


def copy_of(folder: Path, *names: str) -> Path:
    entries = json.loads((FOLDER / "torch/index.json").read_text())["cases"]
    chosen = [entry for entry in entries if entry["name"] in names]
    assert len(chosen) == len(names)
    for entry in chosen:
        shutil.copy(FOLDER / "torch" / entry["file"], folder)
    (folder / "index.json").write_text(json.dumps({"cases": chosen}))
    return folder


def change(folder: Path, **arrays: object) -> None:
    """Replaces arrays of the one case; None takes one away."""
    with np.load(folder / f"{NAME}.npz") as stored:
        kept = dict(stored)
    kept |= arrays
    np.savez(folder / f"{NAME}.npz", **{n: x for n, x in kept.items() if x is not None})


def refused(folder: Path) -> str:
    with pytest.raises(CaseError) as info:
        list(read_set(folder))
    return str(info.value)


def test_f16_cases_have_f16_inputs_and_both_tolerances(tmp_path: Path) -> None:
    (case,) = read_set(copy_of(tmp_path, "f16_odd_T5_H1_hd3"))
    assert isinstance(case, GoldenCase)
    p = case.problem
    assert {x.dtype.name for x in (p.q, p.k, p.v, p.do) if x is not None} == {"float16"}
    assert case.tolerance["dk"] > 1e-3 > 1e-4 > case.tolerance["lse"]


def test_an_f16_case_whose_inputs_are_no_f16_numbers_is_refused(tmp_path: Path) -> None:
    copy_of(tmp_path, "f16_odd_T5_H1_hd3")
    path = tmp_path / "f16_odd_T5_H1_hd3.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["k"] = arrays["k"] + np.float32(1e-6)
    np.savez(path, **arrays)
    assert "not every number of k is an f16 number" in refused(tmp_path)


def test_a_folder_is_a_set_or_holds_sets() -> None:
    assert [path.name for path in sets_in(FOLDER)] == ["onnx", "ort", "torch"]
    assert sets_in(FOLDER / "ort") == [FOLDER / "ort"]


def test_a_folder_without_an_index_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"neither .* nor a folder in it holds index\.json"):
        sets_in(tmp_path)
    with pytest.raises(CaseError, match="is no folder"):
        sets_in(tmp_path / "absent")


def test_a_set_is_read_in_the_order_of_its_index(small: Path) -> None:
    (case,) = read_set(small)
    assert isinstance(case, GoldenCase)
    assert str(case) == f"{small.name}/{NAME}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "is no JSON"),
        ("[]", "is no index of cases"),
        ('{"cases": 3}', "is no index of cases"),
        ('{"cases": [{"name": "a"}]}', "is no index of cases"),
        ('{"cases": [{"name": "a", "file": 5}]}', "is no index of cases"),
        ('{"cases": ["a"]}', "is no index of cases"),
    ],
)
def test_an_index_that_is_none_is_named(text: str, words: str, small: Path) -> None:
    (small / "index.json").write_text(text)
    message = refused(small)
    assert words in message
    assert "index.json" in message


def test_a_missing_file_is_named(small: Path) -> None:
    (small / f"{NAME}.npz").unlink()
    assert f"{NAME}.npz is missing, but index.json lists it" in refused(small)


def test_a_file_that_is_no_npz_or_cut_short_is_named(small: Path) -> None:
    path = small / f"{NAME}.npz"
    whole = path.read_bytes()
    cut = len(whole) // 2
    flipped = whole[:200] + bytes(b ^ 0xFF for b in whole[200:400]) + whole[400:]
    for content in (b"", b"hello", whole[:cut], whole[cut:], flipped):
        path.write_bytes(content)
        assert f"{NAME}.npz is no readable .npz file" in refused(small)
    np.save(small / "single.npy", np.zeros(3))
    shutil.move(small / "single.npy", path)
    assert "is no readable .npz file" in refused(small)


def test_pickled_objects_are_not_loaded(small: Path) -> None:
    change(small, q=np.array([{"a": 1}], object))
    assert "is no readable .npz file" in refused(small)


def test_a_missing_array_and_shapes_that_disagree_are_named(small: Path) -> None:
    change(small, v=np.zeros((1, 36, 4), np.float32))
    assert f"{NAME}.npz and its entry in index.json make no case: v (1, 36" in refused(small)
    change(small, v=None)
    assert "make no case: 'v' is missing" in refused(small)


def test_values_without_gradients_or_attn_are_a_forward_case(small: Path) -> None:
    change(small, do=None, dq=None, dk=None, dv=None, attn=None)
    (case,) = read_set(small)
    assert isinstance(case, GoldenCase)
    assert case.problem.do is None
    assert sorted(case.expected) == ["lse", "o"]


def test_a_case_without_known_parameters_is_listed_with_what_it_needs(small: Path) -> None:
    entry = {"name": "odd", "file": f"{NAME}.npz", "needs": ["score_or_prob_mod"]}
    (small / "index.json").write_text(json.dumps({"cases": [entry]}))
    assert list(read_set(small)) == [Unusable(small.name, "odd", "score or prob mod")]


def test_key_lengths_of_each_batch_are_a_need_of_their_own() -> None:
    needs = {c.name: c.needs for c in read_set(FOLDER / "onnx") if isinstance(c, GoldenCase)}
    assert "key_lengths" in needs["test_attention_4d_causal_nonpad_batch_prefill"]
    assert "key_lengths" not in needs["test_attention_4d_attn_mask_3d_causal"]
