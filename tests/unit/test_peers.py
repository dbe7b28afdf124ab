"""What becomes of a peer: refused, wrong, or a ratio made of pairs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from fake_bench import CHECK, done
from typer.testing import CliRunner

from server import bench_report, cli_bench, peers_check, peers_report
from server.bench_report import BenchReport
from server.bench_timing import Quantiles
from server.cases import Case
from server.cli import app
from server.cli_peers import complete
from server.inputs import digest, make_inputs
from server.peers_check import Check, Error
from server.peers_comparison import OURS, Comparison, ComparisonDone
from server.peers_report import PeerDone, PeerReport
from server.peers_support import refusal
from server.reference import attention

CASE = Case.parse("forward:T=8,D=4")
RIGHT = Check(True, "o errs by 1e-07", {"o": Error(1e-7, 0.1)})
WRONG = Check(False, "o errs by 1", {"o": Error(1.0, 1e6)})


def report(check: Check | None = RIGHT, **told: Any) -> PeerReport:
    given: dict[str, Any] = {"peer": "jax", "ns": [4.0, 9.0, 8.0], "ours_ns": [2.0, 3.0, 4.0]}
    return peers_report.judged(CASE, check, PeerDone(**(given | told)))


def truth(case: Case) -> dict[str, np.ndarray]:
    found = attention(**make_inputs(case), scale=float(case.scale_f32))
    dtype = np.float16 if case.dtype == "f16" else np.float32
    return {name: found[name].astype(dtype).ravel() for name in peers_check.wanted(case)}


def test_ratios_are_taken_pair_by_pair() -> None:
    # The machine was three times slower in the second pair, for both: the ratio does not see it.
    found = report(ns=[4.0, 12.0, 4.0], ours_ns=[2.0, 6.0, 2.0])
    assert found.ratio == Quantiles(2.0, 2.0, 2.0)
    assert report().ratio == Quantiles(2.0, 2.0, pytest.approx(2.6))  # of 2, 3, 2
    assert report().ns == Quantiles(8.0, pytest.approx(5.6), pytest.approx(8.6))


@pytest.mark.parametrize("ours_ns", [[2.0, 3.0], [2.0, 0.0, 4.0], []])
def test_samples_that_are_no_pairs_give_no_ratio(ours_ns: list[float]) -> None:
    found = report(ours_ns=ours_ns)
    assert (found.status, found.ratio) == ("error", None)


def test_a_wrong_peer_is_told_as_wrong_and_not_timed() -> None:
    found = report(WRONG)
    assert (found.status, found.message, found.ratio) == ("wrong", "wrong: o errs by 1", None)
    assert found.to_dict()["right"] is False


def test_a_peer_that_was_not_checked_is_not_timed() -> None:
    assert report(None).status == "error"


def test_what_a_page_says_of_a_failure_stands_in_the_report() -> None:
    assert report(error="out of memory").message == "out of memory"
    assert report(error="f16 needs shader-f16", refused=True).status == "refused"


def test_all_peers_failing_is_a_failure_and_a_wrong_one_a_finding() -> None:
    lost = report(error="lost")
    assert peers_report.nothing_compared([lost])
    assert not peers_report.nothing_compared([lost, report()])
    assert not peers_report.nothing_compared([lost, report(WRONG)])
    assert not peers_report.nothing_compared([report(error="no f16", refused=True)])


@pytest.mark.parametrize(
    ("peer", "case", "why"),
    [
        ("ort", "backward:T=8,D=4", "gradients"),
        ("ort", "forward:Tq=4,Tk=8,D=4", "as many queries"),
        ("ort", "forward:T=8,H=4,Hkv=2,D=4,causal=0", "as many key heads"),
        ("jax", "forward:Tq=4,Tk=8,D=4", "align=tl"),
        ("tfjs", "forward:T=8,D=4,dtype=f16", "float32"),
        ("tfjs", "forward:T=8,H=4,Hkv=2,D=4", "grouped"),
        ("ort", "forward:T=8,D=4,softcap=5", "without softcap"),
        ("jax", "forward:T=8,D=4,window=2:0,bias=tt", "without window and bias"),
        ("tfjs", "forward:T=8,D=4,layout=bhtd,attn=1", "without attn and layout"),
    ],
)
def test_what_a_peer_cannot_do_is_refused_by_name(peer: str, case: str, why: str) -> None:
    assert why in refusal(peer, Case.parse(case))


@pytest.mark.parametrize(
    ("peer", "case"),
    [
        ("ort", "forward:T=8,H=4,Hkv=2,D=4,dtype=f16"),
        ("ort", "forward:Tq=4,Tk=8,D=4,causal=0"),
        ("jax", "backward:Tq=4,Tk=8,D=4,align=tl"),
        ("tfjs", "backward:Tq=4,Tk=8,D=4"),
    ],
)
def test_what_a_peer_can_do_is_not_refused(peer: str, case: str) -> None:
    assert refusal(peer, Case.parse(case)) == ""


@pytest.mark.parametrize("case", ["backward:T=40,H=2,D=8", "forward:T=40,H=2,D=8,dtype=f16"])
def test_right_outputs_pass_the_check_and_small_mistakes_do_not(case: str) -> None:
    parsed = Case.parse(case)
    assert peers_check.check(parsed, truth(parsed)).right
    for name in peers_check.wanted(parsed):
        for break_it in (lambda a: a * 0, lambda a: a * 1.03, lambda a: np.roll(a, 8)):
            tensors = truth(parsed)
            tensors[name] = break_it(tensors[name]).astype(tensors[name].dtype)
            found = peers_check.check(parsed, tensors)
            assert not found.right, name
            assert name in found.message.partition("allowed")[2]


def test_an_f16_peer_may_add_up_in_f16() -> None:
    case = Case.parse("forward:T=40,H=2,D=8,dtype=f16")
    noise = np.random.default_rng(0).normal(1, 2e-3, truth(case)["o"].shape)
    tensors = {"o": (truth(case)["o"] * noise).astype(np.float16)}
    assert peers_check.check(case, tensors).right


def test_nan_is_wrong_in_both_types_and_json_has_no_nan() -> None:
    for dtype in ("f32", "f16"):
        case = Case.parse(f"forward:T=8,D=4,dtype={dtype}")
        tensors = truth(case)
        tensors["o"][3] = np.nan
        found = peers_check.check(case, tensors)
        assert not found.right
        assert found.to_dict()["errors"]["o"] == {"max_error": "nan", "ratio": "inf"}


def comparison() -> Comparison:
    return Comparison(CASE, ["ort", "jax"], 30, 0.1, 30.0, 60.0)


def test_a_page_that_is_done_while_it_is_given_up_breaks_nothing() -> None:
    done = ComparisonDone(
        peers=[], input_sha256=digest(make_inputs(CASE)), error="said by the page"
    )
    late, given_up = comparison(), comparison()
    late.fail("60 s passed")
    late.finish(done)
    assert {one.message for one in late.future.result()} == {"60 s passed"}
    given_up.finish(done)
    given_up.fail("60 s passed")
    assert {one.message for one in given_up.future.result()} == {"said by the page"}


def test_nothing_is_compared_with_a_kernel_of_ours_that_is_wrong() -> None:
    found = comparison()
    found.checks = {OURS: WRONG, "jax": RIGHT}
    told = PeerDone("jax", ns=[1.0] * 3, ours_ns=[1.0] * 3)
    found.finish(ComparisonDone(peers=[told], input_sha256=digest(make_inputs(CASE))))
    ort, jax = found.future.result()
    assert (ort.status, jax.status) == ("error", "error")
    assert "our own kernel is not right here: o errs by 1" in jax.message


def test_a_page_with_other_inputs_compares_nothing() -> None:
    found = comparison()
    found.checks = {OURS: RIGHT, "jax": RIGHT}
    told = PeerDone("jax", ns=[1.0] * 3, ours_ns=[1.0] * 3)
    found.finish(ComparisonDone(peers=[told], input_sha256="0" * 64))
    assert all("other inputs" in one.message for one in found.future.result())


def test_a_peer_that_hangs_does_not_cost_what_was_compared_before_it() -> None:
    found = comparison()
    found.checks = {OURS: RIGHT, "ort": RIGHT}
    told = PeerDone("ort", ns=[2.0] * 3, ours_ns=[1.0] * 3)
    why = "60 s passed while calling jax"
    sha = digest(make_inputs(CASE))
    found.finish(ComparisonDone(peers=[told], input_sha256=sha, error=why))
    ort, jax = found.future.result()
    assert (ort.status, ort.ratio) == ("compared", Quantiles(2.0, 2.0, 2.0))
    assert (jax.status, jax.message) == ("error", why)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["a:b", "--peers"], ["a:b", "--peers=all"]),
        (["--peers", "--json", "f", "a:b"], ["--peers=all", "--json", "f", "a:b"]),
        (["--peers=jax", "a:b"], ["--peers=jax", "a:b"]),
    ],
)
def test_the_option_may_stand_alone(words: list[str], found: list[str]) -> None:
    assert complete(words) == found


class NoBrowser:
    """In the place of a Harness that times, and of the comparisons: nothing is started."""

    environment: ClassVar[dict[str, Any]] = {"engine": "Fake 1", "adapter": {"fallback": True}}

    def __init__(self, *_: Any, **__: Any) -> None:
        self.compared: list[Case] = []

    def __enter__(self) -> NoBrowser:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def bench(self, case: Case, **_: Any) -> BenchReport:
        check = replace(CHECK, status="pass" if case.D == 4 else "fail")
        told = done(gpu_ns=[1e6] * 30)
        if case.D != 4:
            return bench_report.not_timed(case, check)
        return bench_report.timed(case, check, told, 30)

    def run(self, cases: list[Case], *others: Any) -> None:
        self.compared += cases
        keep = others[-1]
        keep(report())
        keep(report(WRONG, peer="ort"))


def test_the_command_compares_what_was_timed_and_writes_it_into_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = NoBrowser()
    monkeypatch.setattr(cli_bench, "Harness", NoBrowser)
    monkeypatch.setattr(cli_bench, "Comparing", lambda *_: fake)
    file = tmp_path / "bench.json"
    words = ["bench", str(CASE), "forward:T=8,D=8", "--peers", "--json", str(file)]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 1, "for the case that is not right, not for the wrong peer"
    assert fake.compared == [CASE]
    jax, ort = json.loads(file.read_text())["peers"]
    assert (jax["peer"], jax["ratio"]["median"], jax["clock"]) == ("jax", 2.0, "wall")
    assert (ort["status"], ort["right"], ort["ratio"]) == ("wrong", False, None)
    assert re.search(r"jax-js +8 ns +3 ns +2 \(2–2\.6\)", found.output), found.output
