"""The search for faster tiles, on a machine whose times are a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from server import cli_tune, tuned
from server.bench_report import BenchReport, failed
from server.bench_timing import Quantiles, Timing
from server.cases import Case
from server.errors import CaseError, NoBrowser
from server.report import Report, RunError
from server.tune import default_cases, ranges, table
from server.tune_search import Found, neighbours, search

CASE = Case.parse("forward:T=256,H=4,D=64")
SHIPPED = {"plain": {"TX": 4, "TY": 8}, "wide": {"N": 16, "FAST": False}}


class Machine:
    """Kernels `plain` (auto takes it) and `wide`; a time for each tile, by a formula."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def ns(self, kernel: str, tile: Mapping[str, Any]) -> float:
        if kernel == "plain":
            return 1e6 * (1 + abs(tile["TX"] - 16) + abs(tile["TY"] - 4))
        return 1e5 * (20 + abs(tile["N"] - 64) - 10 * tile["FAST"])

    def refuses(self, kernel: str, tile: Mapping[str, Any]) -> str:
        return ""

    def measure(self, case: Case, tuned: Mapping[str, Any]) -> BenchReport:
        kernel = "plain" if case.kernel == "auto" else case.kernel
        tile = tuned["kernels"].get(kernel, [SHIPPED[kernel]])[0]
        self.calls.append((kernel, tile))
        status = self.refuses(kernel, tile)
        unfit = status == "unfit"  # the plan passes it over, and the clock happens to be kind
        if unfit:
            tile, status = SHIPPED[kernel], ""
        passes = ({"kernel": kernel, "tile": tile, "roles": {}},)
        ns = Quantiles(*[self.ns(kernel, tile) / (100 if unfit else 1)] * 3)
        timing = Timing(
            clock="gpu", samples=30, calls=1, ns=ns, wall=None, resolution_ns=1.0, flops=1.0,
            size_bytes=1, peak="f32", peak_tflops=None, clock_check=None,
        )  # fmt: skip
        return BenchReport(
            case=str(case),
            kernel=kernel,
            status=status or "timed",
            message="o: wrong\nmore",
            report=Report(case=str(case), kernel=kernel, status="pass", message="", passes=passes),
            timing=None if status else timing,
        )


def found(machine: Machine, kernels: tuple[str, ...] = ("plain",), rounds: int = 5) -> Found:
    result = search(CASE, kernels, machine.measure, rounds)
    assert isinstance(result, Found), result
    return result


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


ADAPTER = {"vendor": "none", "fallback": True}


class FakeHarness(Machine):
    """The machine as `fa2 tune` starts it."""

    @property
    def environment(self) -> dict[str, Any]:
        return {"engine": "Fake 1", "adapter": ADAPTER}

    def __enter__(self) -> FakeHarness:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def bench(self, case: Case, *, samples: int, tuned: Mapping[str, Any]) -> BenchReport:
        assert samples == 40
        return self.measure(case, tuned)


def test_the_command_tells_each_case_and_writes_where_the_page_will_ask(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FA2_TUNED_DIR", str(tmp_path))
    monkeypatch.setattr(cli_tune, "Harness", lambda *_, **__: FakeHarness())
    monkeypatch.setattr(cli_tune, "choices", lambda op: ["plain"])
    cli_tune.tune([str(CASE)], samples=40, rounds=5)
    told = capsys.readouterr().out
    assert "17 ms -> 1 ms (17.00x, gpu time)" in told
    assert "plain TX=16 TY=4" in told
    path = tuned.path_of(ADAPTER, tmp_path)
    assert str(path) in told.replace("\n", "")
    assert tuned.read(path)["kernels"]["plain"][0]["TX"] == 16
    other = tmp_path / "deep" / "own.json"
    cli_tune.tune([str(CASE)], out=other, samples=40, rounds=1)
    assert tuned.read(other)["measured"][0]["case"] == str(CASE)


def tune_with(
    monkeypatch: pytest.MonkeyPatch, out: Path, answer: Callable[[Case], object], *cases: object
) -> int:
    """The exit code where ``answer(case)`` may raise, or give a kind of error for the case."""

    class Trying(FakeHarness):
        def bench(self, case: Case, *, samples: int, tuned: Mapping[str, Any]) -> BenchReport:
            kind = answer(case)
            if kind == "short":
                report = self.measure(case, tuned)
                assert report.timing is not None
                return replace(report, timing=replace(report.timing, ns=None))
            if kind:
                return failed(case, None, RunError(str(kind), "so it ended"))
            return self.measure(case, tuned)

    monkeypatch.setattr(cli_tune, "Harness", lambda *_, **__: Trying())
    monkeypatch.setattr(cli_tune, "choices", lambda op: ["plain"])
    try:
        cli_tune.tune([str(case) for case in cases], out=out, samples=40)
    except typer.Exit as ended:
        return ended.exit_code
    return 0


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("timeout", 4),
        ("device-lost", 4),
        ("no-adapter", 3),
        ("page", 1),
        ("short", 1),
        ("unsupported", 2),
    ],
)
def test_a_named_case_that_is_not_timed_decides_the_exit_code_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, code: int
) -> None:
    out, bad = tmp_path / "t.json", CASE.replace(seed=1)

    def answer(case: Case) -> str:
        return kind if case == bad else ""

    assert tune_with(monkeypatch, out, answer, bad) == code
    assert not out.exists()
    assert tune_with(monkeypatch, out, answer, bad, CASE) == code
    assert [one["case"] for one in tuned.read(out)["measured"]] == [str(CASE)]


@pytest.mark.parametrize("way", [KeyboardInterrupt, NoBrowser])
def test_what_was_measured_is_kept_when_the_rest_is_not_reached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: type[BaseException]
) -> None:
    out, last = tmp_path / "t.json", CASE.replace(seed=1)

    def answer(case: Case) -> None:
        if case == last:
            raise way("the end")

    if way is KeyboardInterrupt:
        assert tune_with(monkeypatch, out, answer, CASE, last) == 130
    else:
        with pytest.raises(way):
            tune_with(monkeypatch, out, answer, CASE, last)
    assert [one["case"] for one in tuned.read(out)["measured"]] == [str(CASE)]


def test_a_table_that_cannot_be_written_or_read_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no table")
    for out in (tmp_path, tmp_path / "file" / "t.json", tmp_path / "file"):
        with pytest.raises(CaseError, match="cannot be"):
            tune_with(monkeypatch, out, lambda case: pytest.fail("measured"), CASE)


def test_what_an_earlier_table_has_of_another_version_is_told_and_written_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, other = tmp_path / "t.json", CASE.replace(seed=1)
    old = table([replace(found(Machine()), case=other)], ADAPTER, "E")  # of a kernel `plain`
    tuned.save(old, out)
    assert tune_with(monkeypatch, out, lambda case: "unsupported", CASE) == 2
    assert f"dropped from the table: {other}: there is no kernel plain" in capsys.readouterr().out
    assert tuned.read(out)["measured"] == []


def test_the_choices_are_the_kernels_of_the_registry_without_the_baseline() -> None:
    names = cli_tune.choices("backward")
    assert "fa2_backward" in names
    assert "attn_backward" not in names
    assert not set(names) & set(cli_tune.choices("forward"))


def test_default_cases_are_small_on_a_cpu() -> None:
    assert max(case.Tq for case in default_cases(software=True)) == 256
    assert {case.op for case in default_cases(software=False)} == {"forward", "backward"}
