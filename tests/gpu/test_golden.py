"""Published values against the kernels in the browser, and `fa2 golden` as a process."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from fa2_process import fa2

from server.golden import GoldenCase
from server.golden_files import read_set, sets_in
from server.golden_run import run_case
from server.harness import Harness

FOLDER = Path(__file__).parent.parent / "data" / "golden"
CASES = [case for folder in sets_in(FOLDER) for case in read_set(folder)]
LACKING = {"window", "softcap", "bias", "bf16", "dv_ne_dk"}
"""What the kernels or Harness.attention may refuse; anything else must run."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_passes_or_is_refused_for_what_it_needs(case: GoldenCase, harness: Harness) -> None:
    outcome = run_case(harness, case)
    if outcome.status == "refused":
        assert case.needs & LACKING, outcome.message
        return
    assert outcome.status == "pass", outcome.message
    assert outcome.checks.keys() == case.expected.keys() - {"dbias"}


@pytest.mark.parametrize("kernel", ["fa2_forward_wide", "fa2_forward", "baseline"])
def test_attn_is_right_to_the_last_digit_whichever_kernel_gave_the_lse(
    harness: Harness, kernel: str
) -> None:
    """Scores of 4000: an LSE, rounded, leaves attn three digits."""
    cases = [
        case
        for case in CASES
        if str(case).startswith("ort/lit_") and case.needs.isdisjoint(LACKING)
    ]
    outcomes = {str(case): run_case(harness, case, kernel) for case in cases}
    ran = {name: outcome for name, outcome in outcomes.items() if outcome.status != "refused"}
    assert len(ran) >= 4
    for name, outcome in ran.items():
        assert outcome.status == "pass", f"{name}: {outcome.message}"
        assert "attn" in outcome.checks, name


def test_the_baseline_agrees_with_published_gradients(harness: Harness) -> None:
    (case,) = (case for case in CASES if str(case) == "torch/gqa_H9_kv3_T20_hd5")
    outcome = run_case(harness, case, "baseline")
    assert (outcome.status, outcome.kernel) == ("pass", "attn_backward"), outcome.message
    assert {"dq", "dk", "dv"} <= outcome.checks.keys()


def test_the_command_counts_passed_and_refused_and_writes_them(
    harness: Harness, tmp_path: Path
) -> None:
    file = tmp_path / "golden.json"
    done = fa2("golden", str(FOLDER / "ort"), "--json", str(file))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    written = json.loads(file.read_text())
    total = len(list(read_set(FOLDER / "ort")))
    assert written["counts"]["pass"] + written["counts"]["refused"] == total
    assert written["counts"]["pass"] >= 9
    assert done.stdout.splitlines()[-1].startswith(f"ALL PASS: {written['counts']['pass']} passed")


def test_an_altered_file_fails_and_a_broken_one_is_wrong_usage(
    harness: Harness, tmp_path: Path
) -> None:
    shutil.copytree(FOLDER / "ort", tmp_path, dirs_exist_ok=True)
    index = json.loads((tmp_path / "index.json").read_text())
    index["cases"] = [c for c in index["cases"] if c["name"] == "lit_gqa_4_H4_kv2_T3"]
    (tmp_path / "index.json").write_text(json.dumps(index))
    path = tmp_path / "lit_gqa_4_H4_kv2_T3.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["ctx_btc"] = arrays["ctx_btc"] + np.float32(1e-3)
    np.savez(path, **arrays)
    done = fa2("golden", str(tmp_path))
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].startswith(f"FAIL    {tmp_path.name}/lit_gqa_4_H4_kv2_T3  o")
    path.write_bytes(path.read_bytes()[:500])
    done = fa2("golden", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path} is no readable .npz file" in done.stderr
