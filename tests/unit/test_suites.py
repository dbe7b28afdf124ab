"""What the named suites hold."""

import json
from itertools import product

import pytest

from server.cases import Case
from server.errors import CaseError
from server.grammar import DISTS, OPS
from server.outputs import predicted_work
from server.paths import STATIC
from server.suites import SUITES, suite


def test_the_seed_suite_is_the_six_shapes_of_the_notes() -> None:
    assert [str(case) for case in suite("seed")] == [
        "forward:T=16,H=4,D=8,attn=1",
        "forward:T=8,H=4,D=8,attn=1",
        "forward:T=20,H=2,D=16,attn=1",
        "forward:B=2,T=48,H=3,D=8,attn=1",
        "forward:T=32,D=64,attn=1",
        "forward:T=256,H=2,D=32,attn=1",
    ]


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_names_each_case_once(name: str) -> None:
    ids = [str(case) for case in suite(name)]
    assert len(ids) == len(set(ids)) > 0
    assert [Case.parse(text) for text in ids] == list(suite(name))


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_asks_only_for_what_the_kernels_support(name: str) -> None:
    for case in suite(name):
        assert (case.window, case.softcap, case.bias) == ((-1, -1), 0, "none")
        assert case.D <= 256
        assert case.kernel in ("auto", "baseline", "fa2_forward_split")
        assert (case.dtype, case.kernel) != ("f16", "baseline")


def test_full_holds_every_other_suite_but_the_long_one() -> None:
    for name in SUITES.keys() - {"long"}:
        assert set(suite(name)) <= set(suite("full"))


def test_wide_heads_walk_over_several_tiles_of_keys() -> None:
    wide = [c for c in suite("full") if c.D >= 64 and min(c.Tq, c.Tk) >= 150]
    assert {(c.op, c.dtype) for c in wide} >= {(op, "f32") for op in OPS} | {("backward", "f16")}
    assert {c.D for c in wide} >= {64, 128, 129}


def test_long_has_a_size_in_each_range_of_the_tiles_that_a_gpu_takes() -> None:
    """Together with ``full``, where a GPU meets the tiles for few rows."""
    registry = json.loads((STATIC / "js" / "attention" / "kernels.json").read_text("utf-8"))
    seen = 0
    for kernel in registry["kernels"]:
        tiles = [tile for tile in kernel.get("tiles", []) if tile.get("adapter") != "software"]
        heads = sorted({tile["maxD"] for tile in tiles})
        ops = ["forward"] if "forward" in kernel["name"] else ["backward"]
        dtypes = kernel.get("needs", {}).get("dtype", ["f32", "f16"])
        for tile in tiles:
            if not {"minT", "maxT", "minRows", "maxRows"} & tile.keys():
                continue
            seen += 1
            smaller = max([0, *heads[: heads.index(tile["maxD"])]])
            for op, dtype in product(ops, dtypes):
                assert any(
                    (c.op, c.dtype) == (op, dtype)
                    and smaller < c.D <= tile["maxD"]
                    and c.Tq % 64
                    and _within(tile, "T", max(c.Tq, c.Tk))
                    and _within(tile, "Rows", c.B * c.H * c.Tq)
                    for c in (*suite("long"), *suite("full"))
                ), (kernel["name"], tile, dtype)
    assert seen > 10


def _within(tile: dict[str, int], name: str, size: int) -> bool:
    return tile.get(f"min{name}", size) <= size <= tile.get(f"max{name}", size)


@pytest.mark.parametrize("op", OPS)
def test_smoke_touches_each_feature_once(op: str) -> None:
    cases = [case for case in suite("smoke") if case.op == op]
    assert len(cases) <= 10
    assert any(case.Tq % 16 for case in cases)
    assert any(not case.causal for case in cases)
    assert any(1 < case.Hkv < case.H for case in cases)
    assert {case.align for case in cases if case.Tq != case.Tk} == {"br", "tl"}
    assert {case.layout for case in cases} == {"bthd", "bhtd", "packed"}
    assert any(case.D % 2 for case in cases)
    assert any(case.attn for case in cases)


def test_f16_is_varied_in_what_storage_depends_on() -> None:
    assert {case.op for case in suite("smoke") if case.dtype == "f16"} == set(OPS)
    cases = [case for case in suite("full") if case.dtype == "f16"]
    assert len(cases) <= 28
    assert {1, 3, 5, 7, 9, 33, 64, 128, 129, 256} <= {case.D for case in cases}
    assert {case.layout for case in cases} == {"bthd", "bhtd", "packed"}
    assert {"large", "negative", "growing"} <= {case.dist for case in cases}
    assert any(case.B * case.Tk * case.Hkv * case.D % 2 for case in cases)
    assert any(case.Hkv == 1 < case.H for case in cases)
    assert any(case.causal and case.offset < 0 for case in cases)


def test_few_queries_meet_many_keys() -> None:
    cases = [case for case in suite("full") if case.op == "forward" and case.Tq <= 8]
    split = [c for c in cases if "split" in c.kernel or (c.kernel == "auto" and c.Tk >= 1000)]
    assert len(split) <= 14
    assert {1, 3, 8} <= {case.Tq for case in split}
    assert {1, 17, 1000, 4096} <= {case.Tk for case in split}
    assert {8, 40, 64, 128, 256} <= {case.D for case in split}
    assert {"growing", "large"} <= {case.dist for case in split}
    assert any(case.Hkv < case.H and case.Tq > 1 for case in split)
    assert {(case.causal, case.align) for case in split} >= {
        (True, "br"),
        (True, "tl"),
        (False, "br"),
    }


@pytest.mark.parametrize("op", OPS)
def test_edges_hold_every_family_and_the_smallest_sizes(op: str) -> None:
    cases = [case for case in suite("edges") if case.op == op]
    assert {case.dist for case in cases} == set(DISTS)
    assert {1, 3, 5, 256} <= {case.D for case in cases}
    assert any(case.Tq == case.Tk == 1 for case in cases)
    assert any(case.Tk == 1 < case.Tq for case in cases)
    assert any(case.Hkv == 1 < case.H for case in cases)
    assert {0, 1, 8} <= {case.scale for case in cases}


def test_rows_without_keys_share_a_tile_with_rows_that_have_some() -> None:
    empty_rows = [-c.offset for c in suite("edges") if c.causal and c.offset < 0]
    assert any(n % 16 for n in empty_rows)
    assert any(n % 16 == 0 for n in empty_rows)
    assert any(n > 32 and n % 32 for n in empty_rows)  # whole empty tiles, then a mixed one


@pytest.mark.parametrize("op", OPS)
def test_full_walks_the_tile_edges_and_the_head_sizes(op: str) -> None:
    plain = [case for case in suite("full") if (case.op, case.kernel) == (op, "auto")]
    assert {15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 1025} <= {case.Tq for case in plain}
    sizes = {1, 2, 3, 4, 8, 16, 24, 32, 33, 63, 64, 65, 100, 128, 129, 256}
    assert sizes <= {case.D for case in plain}
    assert len({case.seed for case in plain}) >= 5


@pytest.mark.parametrize("op", OPS)
def test_full_runs_the_baseline_above_the_1024_keys_of_the_notes(op: str) -> None:
    baseline = [case for case in suite("full") if (case.op, case.kernel) == (op, "baseline")]
    assert {case.causal for case in baseline if case.Tk == 1025} == {True, False}


def test_full_stays_small_enough_for_a_software_gpu() -> None:
    cases = suite("full")
    # Pipelines cost most, and grow with the head size; then the multiply-adds.
    assert sum(case.D > 64 for case in cases) <= 28
    assert sum(predicted_work(case) for case in cases) < 3e9


def test_an_unknown_suite_is_refused_with_the_names() -> None:
    names = "seed, smoke, edges, full, long"
    with pytest.raises(CaseError, match=f"no suite 'fast'; the suites are {names}"):
        suite("fast")
