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


def test_gradients_without_the_do_that_they_belong_to_are_refused(small: Path) -> None:
    with np.load(small / f"{NAME}.npz") as stored:
        do = stored["do"]
    change(small, do=None)
    message = refused(small)
    assert f"{NAME}.npz and its entry in index.json make no case: it holds dq, dk, dv" in message
    assert "expected under the name do, and the arrays are attn, dk, dq, dv, k," in message
    change(small, dout=do)
    assert "dk, dout, dq," in refused(small)
    change(small, dO=do, dout=None)
    assert f"{NAME}.npz and its entry in index.json make no case: the array dO" in refused(small)
    change(small, dO=None, dq=None, dk=None, dv=None, dbias=do)
    assert "it holds dbias, but not the dO" in refused(small)


def test_an_array_in_other_letters_is_not_left_out(small: Path) -> None:
    with np.load(small / f"{NAME}.npz") as stored:
        lse = stored["lse"]
    change(small, lse=None, LSE=lse)
    assert "the array LSE is expected under the name lse" in refused(small)


def entry_with(folder: Path, **fields: object) -> None:
    """Replaces fields of the index's one entry; a dict is merged into what is there."""
    index = json.loads((folder / "index.json").read_text())
    (entry,) = index["cases"]
    for key, value in fields.items():
        entry[key] = entry[key] | value if isinstance(value, dict) else value
    (folder / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    "value",
    [float("inf"), float("nan"), -1e-6, 10**400, "1", None, True],
    ids=["inf", "nan", "negative", "huge", "text", "null", "true"],
)
def test_a_tolerance_under_which_everything_or_nothing_passes_is_refused(
    value: object, small: Path
) -> None:
    entry_with(small, suggested_atol={"dk": value})
    message = refused(small)
    assert f"{NAME}.npz and its entry" in message
    assert f"suggested_atol of dk is {value!r}; a tolerance is a finite number" in message


def test_all_tolerances_of_a_file_are_looked_at(tmp_path: Path) -> None:
    name = "f16_odd_T5_H1_hd3"
    for key in ("max_abs_score_terms", "suggested_atol_f16", "checks"):
        copy_of(tmp_path, name)
        bad = {"max_abs_score_terms": float("inf"), "checks": {"o": "rel inf"}}
        entry_with(tmp_path, **{key: bad.get(key, {"dv": float("inf")})})
        assert key in refused(tmp_path)
    copy_of(tmp_path, name)
    entry_with(tmp_path, checks={"o": "rel"})
    assert "checks of o is 'rel'; write rel and a finite number" in refused(tmp_path)


def test_a_tolerance_of_0_is_one_where_the_expected_values_are_0(small: Path) -> None:
    entry_with(small, suggested_atol={"dk": 0})
    (case,) = read_set(small)
    assert isinstance(case, GoldenCase)
    assert case.tolerance["dk"] == 0


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0])
def test_the_tolerance_of_an_operator_case_is_finite(value: float, tmp_path: Path) -> None:
    entries = json.loads((FOLDER / "ort/index.json").read_text())["cases"]
    shutil.copy(FOLDER / "ort" / entries[0]["file"], tmp_path)
    (tmp_path / "index.json").write_text(json.dumps({"cases": [entries[0] | {"tol": value}]}))
    assert f"tol is {value!r}; a tolerance is a finite number" in refused(tmp_path)


def test_an_infinite_expected_value_does_not_make_the_tolerance_infinite(tmp_path: Path) -> None:
    entries = json.loads((FOLDER / "ort/index.json").read_text())["cases"]
    with np.load(FOLDER / "ort" / entries[0]["file"]) as stored:
        arrays = dict(stored)
    arrays["ctx_btc"][0, 0, 0] = np.inf
    np.savez(tmp_path / entries[0]["file"], **arrays)
    (tmp_path / "index.json").write_text(json.dumps({"cases": entries[:1]}))
    assert "the tolerance derived for o is inf" in refused(tmp_path)


def test_a_case_without_known_parameters_is_listed_with_what_it_needs(small: Path) -> None:
    entry = {"name": "odd", "file": f"{NAME}.npz", "needs": ["score_or_prob_mod"]}
    (small / "index.json").write_text(json.dumps({"cases": [entry]}))
    assert list(read_set(small)) == [Unusable(small.name, "odd", "score or prob mod")]


def test_key_lengths_of_each_batch_are_a_need_of_their_own() -> None:
    needs = {c.name: c.needs for c in read_set(FOLDER / "onnx") if isinstance(c, GoldenCase)}
    assert "key_lengths" in needs["test_attention_4d_causal_nonpad_batch_prefill"]
    assert "key_lengths" not in needs["test_attention_4d_attn_mask_3d_causal"]
