"""Long sequences are judged on a sample, which is the right one and says so."""

from __future__ import annotations

import numpy as np
import pytest
from fake_upload import results, uploads, verdict_on

from server import measure
from server.cases import Case
from server.inputs import make_inputs
from server.judge import problem_of

SMALL = Case.parse("forward:B=2,T=20,H=3,D=4,attn=1")


@pytest.fixture
def sampled(monkeypatch):
    monkeypatch.setattr(measure, "SAMPLED_ABOVE", 100)
    monkeypatch.setattr(measure, "RANDOM_PICKS", 6)


LONG = Case.parse("backward:B=2,Tq=90,Tk=130,H=4,Hkv=2,D=4,layout=bhtd")


@pytest.mark.parametrize("bias", ["none", "htt", "b11t"])
def test_a_sample_of_right_results_passes_and_says_that_it_is_one(sampled, bias):
    case = LONG.replace(bias=bias)
    report = verdict_on(case)
    assert report.ok, report.message
    (warning,) = report.warnings
    assert "a sample was judged: " in warning
    assert "of 90 rows of every head; dk and dv on " in warning
    assert warning in report.message
    assert list(report.outputs)[:5] == ["o", "lse", "dq", "dk", "dv"]
    assert ("dbias" in report.outputs) == (bias != "none")
    assert report.outputs["o"].total < 2 * 90 * 4 * 4


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("o", (1, slice(0, 1))), ("o", (0, slice(89, 90))), ("lse", (1, 0, slice(16, 17))),
        ("lse", (1, 0, slice(15, 16))), ("dq", (0, slice(88, 89))),
        ("dk", (slice(None), slice(0, 1))), ("dv", (slice(None), slice(129, 130))),
        ("dk", (slice(None), slice(16, 17))),
    ],
)  # fmt: skip
def test_a_sample_has_first_and_last_rows_and_tile_edges(sampled, name, where):
    got = results(LONG)
    got[name][where] += 1
    report = verdict_on(LONG, uploads(LONG, got))
    assert report.status == "fail"
    assert report.message.startswith(f"{name}: ")


def test_what_needs_no_truth_is_checked_everywhere_even_in_a_sample(sampled):
    tensors = uploads(LONG, results(LONG))
    judged = set(verdict_on(LONG).outputs["lse"].worst.index)
    assert judged == {"b", "h", "i"}
    sample = measure.sample_of(_problem(LONG), {"i": 16, "j": 16}, 0)
    unseen = next(i for i in range(90) if i not in sample.rows)
    flat = tensors["lse"].reshape(2, 4, 90)
    flat[1, 2, unseen] = np.nan
    tensors["lse.repeat"].reshape(2, 4, 90)[1, 2, unseen] = np.nan
    report = verdict_on(LONG, tensors)
    assert report.status == "fail"
    assert f"only at b = 1, h = 2, i = {unseen}" in report.message


def test_rows_without_keys_are_known_outside_the_sample_too(sampled):
    case = Case.parse("forward:Tq=130,Tk=90,H=2,D=4")
    tensors = uploads(case, results(case))
    for name in ("lse", "lse.repeat"):
        tensors[name][tensors[name] < -1e30] = -np.inf
    assert verdict_on(case, tensors).ok
    sample = measure.sample_of(_problem(case), {"i": 16, "j": 16}, 0)
    unseen = next(i for i in range(40, 130) if i not in sample.rows)
    for name in ("lse", "lse.repeat"):
        tensors[name].reshape(2, 130)[1, unseen] = -np.inf
    assert f"only at b = 0, h = 1, i = {unseen}" in verdict_on(case, tensors).message


def test_some_key_heads_stand_for_all_when_there_are_too_many_scores(sampled, monkeypatch):
    monkeypatch.setattr(measure, "KEY_BUDGET", 1)
    samples = {s: measure.sample_of(_problem(LONG), {"i": 16, "j": 16}, s) for s in range(20)}
    assert {int(n) for sample in samples.values() for n in sample.kv_heads} == {0, 1}
    seed, sample = next((s, x) for s, x in samples.items() if x.kv_heads.tolist() == [1])
    case = LONG.replace(seed=seed)
    got = results(case)
    report = verdict_on(case, uploads(case, got))
    assert report.ok, report.message
    assert report.outputs["dk"].total == len(sample.keys) * 1 * 4
    got["dv"][sample.batch, 0, 1] += 1
    report = verdict_on(case, uploads(case, got))
    assert report.status == "fail"
    index = report.outputs["dv"].worst.index
    assert (index["b"], index["j"], index["hkv"]) == (sample.batch, 0, 1)


def test_a_sample_holds_both_sides_of_tile_edges():
    problem = _problem(Case.parse("forward:Tq=9000,Tk=1,D=1"))
    for seed in range(5):
        rows = set(measure.sample_of(problem, {"i": 16}, seed).rows.tolist())
        assert {0, 1, 15, 16, 8999, 8998} <= rows
        edges = [i for i in rows if i % 16 == 0 and i - 1 in rows]
        assert len(edges) >= 7
        assert 300 < len(rows) < 340


def test_the_sample_depends_on_the_seed_and_covers_it_all_below_the_limit(sampled):
    problem = _problem(LONG)
    first, again, other = (measure.sample_of(problem, {}, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, other.rows)
    assert measure.sample_of(_problem(SMALL), {}, 0) is None


def _problem(case):
    return problem_of(case, make_inputs(case))


@pytest.mark.parametrize(("T", "tile"), [(16384, 128), (16384, 64), (9000, 256), (8200, 16)])
def test_a_sample_has_a_row_of_every_tile_and_of_every_lane(T, tile):
    case = Case.parse(f"forward:T={T},D=1")
    sample = measure.sample_of(_problem(case), {"i": tile, "j": tile}, 3)
    for picked in (sample.rows, sample.keys):
        assert picked.size < 400
        assert set(picked % tile) == set(range(tile))
        tiles = -(-T // tile)
        assert len(set(picked // tile)) >= min(tiles, measure.ROUND)


def test_a_sample_of_keys_is_of_the_last_batch_and_has_its_last_head():
    case = Case.parse("backward:B=3,T=8200,H=4,D=1")
    sample = measure.sample_of(_problem(case), {}, 3)
    assert sample.batch == 2
    assert 3 in sample.kv_heads
    assert sample.kv_heads.size == len(set(sample.kv_heads)) in (2, 3)
