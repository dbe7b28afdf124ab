"""The page that compares, with peers made of our own kernel in the place of other libraries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from server import browser
from server.cases import Case
from server.harness import Harness
from server.launch import Options, choose_launcher
from server.paths import STATIC
from server.peers_bench import PeersBench
from server.peers_report import PeerReport
from server.session import Opening
from server.settings import Settings

CASE = Case.parse("forward:T=64,H=2,D=16")
PAIRS = 5

# Each takes the place of an adapter of a library: its own device, which the page watches.
FAKE = """
import { DeviceKeeper } from "../../device.js";
import { prepare as ours } from "./ours.js";
import { Refusal } from "./subject.js";
export async function prepare(task, devices) {
  const subject = await ours(task, new DeviceKeeper());
  const { call, read } = subject;
  %s
  return subject;
}
"""
RIGHT = ""
WRONG = """subject.read = async () => {
    const { o } = await read();
    new Float32Array(o.buffer)[7] += 0.001;
    return { o };
  };"""
SLOW = "subject.call = () => { for (let n = 0; n < 12; n++) call(); };"
HANGS = "subject.call = () => new Promise(() => {});"
LOST = "subject.drain = () => { devices.all[0].destroy(); return new Promise(() => {}); };"
REFUSES = 'throw new Refusal("not on this adapter");'


class Comparer:
    """Compares with fakes: ``compare(ort=RIGHT, …)``."""

    def __init__(self, static: Path) -> None:
        found = browser.find()
        self._static = static
        self._bench = PeersBench(
            Opening(found, choose_launcher(found, None), Options()),
            static,  # no file of a library is asked for
            ["ort", "jax", "tfjs"],
            settings=Settings(port=0, static_dir=static),
        )

    def __enter__(self) -> Comparer:
        self._bench.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bench.__exit__()

    def compare(
        self, case: Case = CASE, timeout_s: float = 20.0, **fakes: str
    ) -> dict[str, PeerReport]:
        for name, text in fakes.items():
            (self._static / f"js/bench/peers/{name}.js").write_text(FAKE % text)
        found = self._bench.compare(case, pairs=PAIRS, sample_s=0.02, timeout_s=timeout_s)
        return {report.peer: report for report in found}


@pytest.fixture(scope="module")
def comparer(harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparer]:
    """``harness``: without a browser that has an adapter here, these tests are skipped too."""
    static = tmp_path_factory.mktemp("peers") / "static"
    shutil.copytree(STATIC, static)
    with Comparer(static) as found:
        yield found


def test_a_right_peer_is_timed_beside_ours_a_slow_one_is_slower_a_wrong_one_is_not_timed(
    comparer: Comparer,
) -> None:
    found = comparer.compare(ort=RIGHT, jax=WRONG, tfjs=SLOW)
    right, wrong, slow = found["ort"], found["jax"], found["tfjs"]
    assert (right.status, slow.status) == ("compared", "compared"), found
    assert right.pairs == slow.pairs == PAIRS
    assert right.ratio
    assert slow.ratio
    assert 0.25 < right.ratio.median < 4, "a pause of the machine may hit one side of a pair"
    assert slow.ratio.median > 3 * right.ratio.median
    assert right.kernel.startswith("fa2_forward")
    assert right.first_call_ns
    assert right.ours_first_call_ns
    assert (wrong.status, wrong.ratio, wrong.pairs) == ("wrong", None, 0)
    assert "o errs by 0.001" in wrong.message


@pytest.mark.slow
def test_a_backward_is_compared_with_its_forward_and_by_its_gradients(comparer: Comparer) -> None:
    case = Case.parse("backward:T=32,D=8")
    found = comparer.compare(case, jax=RIGHT, tfjs=WRONG.replace("{ o }", "{ o, ...others }"))
    assert found["ort"].status == "refused"
    assert found["jax"].status == "compared", found["jax"].message
    assert found["jax"].work == "forward + backward"
    assert found["jax"].check
    assert set(found["jax"].check.errors) == {"o", "dq", "dk", "dv"}
    assert found["tfjs"].status == "wrong"


def test_what_fails_with_one_peer_stays_with_it(comparer: Comparer) -> None:
    found = comparer.compare(ort=LOST, jax=REFUSES, tfjs=RIGHT)
    assert (found["ort"].status, found["jax"].status) == ("error", "refused")
    assert "GPU device was lost" in found["ort"].message
    assert found["jax"].message == "not on this adapter"
    assert found["tfjs"].status == "compared", found["tfjs"].message


@pytest.mark.slow
def test_a_peer_that_never_answers_ends_by_the_deadline_and_the_next_case_works(
    comparer: Comparer,
) -> None:
    found = comparer.compare(timeout_s=6.0, ort=RIGHT, jax=HANGS, tfjs=REFUSES)
    assert found["ort"].status == "compared", found["ort"].message
    assert found["jax"].status == "error"
    assert "passed while calling jax" in found["jax"].message
    assert comparer.compare(ort=REFUSES, jax=RIGHT, tfjs=REFUSES)["jax"].status == "compared"
