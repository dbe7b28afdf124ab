"""The search for faster tiles, on a machine whose times are a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from fake_tune import CASE, SHIPPED, Machine, found

from server import cli_tune
from server.bench_report import BenchReport
from server.cases import Case
from server.tune import default_cases, ranges, table
from server.tune_search import Found, neighbours, search


def test_the_search_ends_at_the_fastest_tile_and_tries_none_twice() -> None:
    machine = Machine()
    best = found(machine)
    assert best.tiles == {"plain": {"TX": 16, "TY": 4}}
    assert (best.before_ns, best.after_ns, best.clock) == (17e6, 1e6, "gpu")
    assert best.improved
    searched, again = machine.calls[: best.tried], machine.calls[best.tried :]
    assert best.tried == len({repr(call) for call in searched})
    before, after = ("plain", SHIPPED["plain"]), ("plain", {"TX": 16, "TY": 4})
    assert again == [before, after, after, before] * 2


def test_a_faster_kernel_is_taken_and_its_own_tile_searched() -> None:
    best = found(Machine(), ("plain", "wide"))
    assert (best.kernel, best.kernel_before) == ("wide", "plain")
    assert best.tiles == {"wide": {"N": 64, "FAST": True}}


def test_a_kernel_that_the_case_names_is_the_only_one_tried() -> None:
    machine = Machine()
    best = search(CASE.replace(kernel="plain"), ("plain", "wide"), machine.measure)
    assert isinstance(best, Found)
    assert {kernel for kernel, _ in machine.calls} == {"plain"}
    assert best.kernel == best.kernel_before == "plain"


def test_what_is_no_better_than_noise_changes_nothing() -> None:
    class Flat(Machine):
        def ns(self, kernel: str, tile: Mapping[str, Any]) -> float:
            return 1e6 * (1 if tile == SHIPPED[kernel] else 0.98)

    best = found(Flat(), ("plain", "wide"))
    assert not best.improved
    assert best.after_ns == best.before_ns
    assert table([best], {}, "E")["kernels"] == {}


class Wandering(Machine):
    """Tiles are all alike; what is before takes so many times of that in its turns."""

    def __init__(self, *before: float) -> None:
        super().__init__()
        self.before = [*before][::-1]

    def ns(self, kernel: str, tile: Mapping[str, Any]) -> float:
        return 1e6 * (self.before.pop() if tile == SHIPPED[kernel] else 1)


def test_a_gain_that_is_gone_when_both_are_timed_by_turns_is_not_kept_and_told() -> None:
    best = found(Wandering(1.6, 1.0, 1.3, 0.9, 1.1))  # slow once, first
    assert not best.improved
    assert (best.before_ns, best.after_ns) == (1.6e6, 1.6e6)
    assert "1 ms by turns with 1.05 ms before, whose times are 0.4 ms apart" in best.unconfirmed
    made = table([best], {}, "E")
    assert (made["kernels"], made["choices"]) == ({}, [])
    assert "plain TX=8 TY=8: 1 ms by turns" in cli_tune.lines(best)[1]


def test_a_gain_is_told_as_it_was_confirmed() -> None:
    best = found(Wandering(1.6, 1.2, 1.3, 1.2, 1.3))
    assert best.tiles == {"plain": {"TX": 8, "TY": 8}}
    assert (best.before_ns, best.after_ns, best.unconfirmed) == (1.25e6, 1e6, "")
    assert "1.25 ms -> 1 ms (1.25x" in cli_tune.lines(best)[0]


def test_a_winner_that_fails_when_it_is_timed_again_is_not_kept() -> None:
    class Weary(Machine):
        def refuses(self, kernel: str, tile: Mapping[str, Any]) -> str:
            again = self.calls.count((kernel, {"TX": 16, "TY": 4})) > 2
            return "error" if again and tile["TX"] == 16 else ""

    best = found(Weary())
    assert not best.improved
    assert best.unconfirmed == "plain TX=16 TY=4: not timed again: o: wrong"


@pytest.mark.parametrize("status", ["fail", "vacuous", "error", "skip", "unfit"])
def test_what_is_wrong_refused_or_does_not_fit_is_never_taken(status: str) -> None:
    class Picky(Machine):
        def refuses(self, kernel: str, tile: Mapping[str, Any]) -> str:
            return status if tile["TX"] >= 16 else ""

    best = found(Picky())
    assert best.tiles == {"plain": {"TX": 8, "TY": 4}}
    assert bool(best.wrong) == (status in ("fail", "vacuous"))
    assert (best.refused > 0) == (status in ("error", "skip"))
    if best.wrong:
        assert best.wrong[0].endswith("'TY': 4}}: o: wrong"), best.wrong


def test_a_case_that_cannot_be_timed_is_told_and_nothing_else_tried() -> None:
    class Broken(Machine):
        def refuses(self, kernel: str, tile: Mapping[str, Any]) -> str:
            return "error"

    machine = Broken()
    told = search(CASE, ("plain", "wide"), machine.measure)
    assert isinstance(told, BenchReport)
    assert (told.case, told.status) == (str(CASE), "error")
    assert cli_tune.lines(told) == [f"NOT TIMED  {CASE}: o: wrong\nmore"]
    assert len(machine.calls) == 1


def test_neighbours_differ_by_a_factor_of_two_a_flag_or_the_shape() -> None:
    assert list(neighbours({"TX": 1, "TY": 512, "FAST": True})) == [
        {"TX": 2, "TY": 512, "FAST": True},
        {"TX": 1, "TY": 256, "FAST": True},
        {"TX": 1, "TY": 512, "FAST": False},
        {"TX": 2, "TY": 256, "FAST": True},
    ]
    assert {"N": 3} not in list(neighbours({"N": 7}))


def test_rows_of_a_table_cover_every_length_once() -> None:
    cases = [Case.parse(f"forward:T={T},D=64") for T in (4096, 64, 512)]
    rows = [ranges(case, [*cases, Case.parse("forward:T=100,D=64,causal=0")]) for case in cases]
    by_length = {
        length: [n for n, row in enumerate(rows)
                 if row.get("minT", 0) <= length <= row.get("maxT", 10**9)]
        for length in (1, 64, 181, 182, 512, 1448, 1449, 4096, 99999)
    }  # fmt: skip
    assert by_length == {
        1: [1], 64: [1], 181: [1], 182: [2], 512: [2], 1448: [2], 1449: [0], 4096: [0],
        99999: [0],
    }  # fmt: skip


def test_a_tile_measured_with_few_rows_does_not_stand_for_as_long_heads_of_many() -> None:
    cases = [Case.parse(f"forward:T={T},H=16,D=64") for T in (512, 1024)]
    short, long = (ranges(case, cases) for case in cases)
    assert (short.get("minRows"), short["maxRows"]) == (None, 11585)
    assert (long["minRows"], long.get("maxRows")) == (11586, None)


def test_few_queries_over_many_keys_and_as_many_of_both_do_not_stand_for_each_other() -> None:
    cases = [
        Case.parse(f"forward:{shape},D=64") for shape in ("T=4096", "Tq=1,Tk=4096", "Tq=4096,Tk=16")
    ]
    short = Case.parse("forward:T=256,D=64")
    sizes = ("minT", "maxT", "minTq", "maxTq", "minTk", "maxTk")
    found = [
        {name: row[name] for name in sizes if name in row}
        for row in (ranges(case, [*cases, short]) for case in (*cases, short))
    ]
    assert found == [
        {"minT": 1025, "minTq": 32, "minTk": 32},
        {"maxTq": 64},
        {"maxTk": 256},
        {"maxT": 1024},
    ]


def test_a_table_holds_the_tiles_the_kernel_preferred_and_the_figures() -> None:
    best = found(Machine(), ("plain", "wide"))
    made = table([best], {"vendor": "v", "limits": {"a": 1}}, "Fake 1")
    conditions = {"minD": 33, "maxD": 64, "dtype": ["f32"], "causal": True}
    why = f"{CASE}: 1 ms, 17 ms before, gpu time"
    assert made["kernels"] == {"wide": [{**conditions, "N": 64, "FAST": True, "why": why}]}
    assert made["choices"] == [{"op": "forward", **conditions, "kernel": "wide", "why": why}]
    assert made["adapter"] == {"vendor": "v", "architecture": "", "device": "", "description": ""}
    assert made["measured"][0]["tried"] == best.tried


def test_default_cases_are_small_on_a_cpu() -> None:
    assert max(case.Tq for case in default_cases(software=True)) == 256
    assert {case.op for case in default_cases(software=False)} == {"forward", "backward"}
